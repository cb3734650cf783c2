// Refuses a model file: reports the first rule of docs/validation.md that it breaks. Each sentence is written where
// its rule is checked; docs/errors.md lists all.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "kernels/base/error.h"
#include "kernels/base/printable.h"

namespace palimpsest::engine {

// Throws the errors about one subject, a file. Names from the file must have gone through in_quotes().
class Refusal {
public:
    explicit Refusal(std::string subject) : subject_(std::move(subject)) {}

    const std::string& subject() const { return subject_; }

    // `rule` is the code of the rule in docs/validation.md that the file breaks.
    [[noreturn]] void fail(ErrorCode rule, Text what, Text remedy = download_again(),
                           std::optional<uint64_t> offset = std::nullopt) const
    {
        throw Error(ErrorKind::Failed, rule, Text::verbatim(subject_), std::move(what), std::move(remedy), offset);
    }

    static Text download_again() { return Text("download it again or compare its checksum"); }
    static Text other_model() { return Text("use another model"); }

private:
    std::string subject_;
};

inline std::string in_quotes(std::string_view foreign)
{
    return "'" + printable(foreign) + "'";
}

} // namespace palimpsest::engine
