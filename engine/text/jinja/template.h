// Chat templates: Jinja as transformers configures it (an immutable sandbox, trim_blocks, lstrip_blocks, break and
// continue, a tojson that does not escape HTML), as far as the templates of models use it.
//
// Blocks: if, for, set, macro, call, filter, with, raw, generation (its body), break, continue. Not supported, and
// refused by name: inheritance and imports, recursive loops, and the filters and tests that text_filters.cpp,
// sequence_filters.cpp and value_tests.cpp leave out. Integers have 64 bits.
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
    // Invalid UTF-8 counts as U+FFFD. Throws Error (Failed): PAL-TEMPLATE-01 for a source that cannot be parsed,
    // -02 for a tag that is not supported, -04 for one that is nested too deeply.
    explicit Template(std::string_view source);

    // `context`: the variables, of valid UTF-8. `date`: what strftime_now prints. Costs at most the steps and bytes
    // of meter.h. Throws Error (Failed): PAL-TEMPLATE-02 for what is not supported, -03 for what Jinja refuses too,
    // -04 beyond a limit, -05 where the template calls raise_exception.
    std::string render(const Dict& context, const std::tm& date) const;

private:
    syntax::Block body_;
};

} // namespace palimpsest::engine::jinja
