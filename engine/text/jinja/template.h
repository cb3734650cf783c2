// Chat templates: Jinja as configured by transformers (an immutable sandbox, trim_blocks, lstrip_blocks, break and
// continue, a tojson that does not escape HTML), to the extent that models' templates use it.
//
// Blocks: if, for, set, macro, call, filter, with, raw, generation (its body), break, continue. Unsupported, and
// refused by name: inheritance and imports, recursive loops, and the filters and tests that are missing from
// text_filters.cpp, sequence_filters.cpp and value_tests.cpp. Integers have 64 bits.
#pragma once

#include <ctime>
#include <string>
#include <string_view>

#include "engine/text/jinja/syntax.h"
#include "engine/text/jinja/value.h"

namespace palimpsest::engine::jinja {

// Immutable; render may be called from several threads at once.
class Template {
public:
    // Invalid UTF-8 is read as U+FFFD. Throws Error (Failed): PAL-TEMPLATE-01 for invalid syntax, -02 for an
    // unsupported tag, -04 for tags that are nested too deeply.
    explicit Template(std::string_view source);

    // `context`: the variables, in valid UTF-8. `date`: for strftime_now. The cost is limited to the steps and
    // bytes of meter.h. Throws Error (Failed): PAL-TEMPLATE-02 for unsupported features, -03 for errors that Jinja
    // raises, too, -04 beyond a limit, -05 if the template calls raise_exception.
    std::string render(const Dict& context, const std::tm& date) const;

private:
    syntax::Block body_;
};

} // namespace palimpsest::engine::jinja
