// Python's str.format, for fields without attributes, conversions or format specifications.

#include <charconv>

#include "engine/text/jinja/failure.h"
#include "engine/text/jinja/methods.h"
#include "engine/text/jinja/printing.h"
#include "kernels/base/printable.h"

namespace palimpsest::engine::jinja {
namespace {

class BraceFormat {
public:
    BraceFormat(Runtime& runtime, ArgumentReader& arguments)
        : runtime_(runtime), positional_(arguments.rest()), named_(arguments.all_named())
    {
    }

    std::string run(std::string_view format)
    {
        std::string out;
        while (!format.empty()) {
            const bool doubled = format.starts_with("{{") || format.starts_with("}}");
            if (doubled || format.front() != '{') {
                out += format.front();
                format.remove_prefix(doubled ? 2 : 1);
                continue;
            }
            const size_t end = format.find('}');
            if (end == std::string_view::npos) fail_run(Text("a format ends in the middle of a field"));
            out += to_text(field(format.substr(1, end - 1)), runtime_.meter);
            format.remove_prefix(end + 1);
        }
        runtime_.meter.make(out.size());
        return out;
    }

private:
    const Value& at(size_t index) const
    {
        if (index >= positional_.size()) fail_run(Text("a format has more fields than values"));
        return positional_[index];
    }
    const Value& field(std::string_view name)
    {
        if (name.empty()) return at(next_++);
        size_t index = 0;
        const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), index);
        if (error == std::errc() && end == name.data() + name.size()) return at(index);
        runtime_.meter.step(named_.size() / 8);
        for (const auto& [given, value] : named_)
            if (given == name) return value;
        fail_unsupported(Text("it uses the format field '{0}', which is not supported", printable(name)));
    }

    Runtime& runtime_;
    std::vector<Value> positional_;
    std::vector<std::pair<std::string, Value>> named_;
    size_t next_ = 0;
};

} // namespace

Value format_braces(Runtime& runtime, const Value& self, ArgumentReader& arguments)
{
    return BraceFormat(runtime, arguments).run(self.text());
}

} // namespace palimpsest::engine::jinja
