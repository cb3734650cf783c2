// Refuses a model file: reports the first rule of docs/validation.md that it breaks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "kernels/base/error.h"

namespace palimpsest::engine {

// Throws for one subject (a file). Names from the file must have gone through in_quotes().
class Refusal {
public:
    explicit Refusal(std::string subject) : subject_(std::move(subject)) {}

    const std::string& subject() const { return subject_; }

    // `rule`: the id in docs/validation.md, "S4", "C2" or "T3", but without the letter for GGUF: "10" for G10. The
    // code is PAL-MODEL-rule.
    [[noreturn]] void fail(std::string_view rule, std::string what, std::string remedy = download_again,
                           std::optional<uint64_t> offset = std::nullopt) const
    {
        throw Error(ErrorKind::Failed, "PAL-MODEL-" + std::string(rule), subject_, std::move(what),
                    std::move(remedy), offset);
    }

    static constexpr const char* download_again = "download it again or compare its checksum";
    static constexpr const char* other_model = "use another model";

private:
    std::string subject_;
};

inline std::string in_quotes(std::string_view foreign)
{
    return "'" + printable(foreign) + "'";
}

} // namespace palimpsest::engine
