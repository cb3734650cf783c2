#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/text/jinja/template.h"
#include "kernels/base/error.h"
#include "tests/support/fixtures/json_value.h"

using namespace palimpsest;
using namespace palimpsest::engine;

namespace {

constexpr std::string_view context = R"({"bos_token": "<s>", "eos_token": "</s>", "add_generation_prompt": true,
"tools": [{"type": "function", "function": {"name": "f", "parameters": {"a": [1, 2.5, null, true]}}}],
"messages": [{"role": "system", "content": "Be \"brief\".\n"}, {"role": "user", "content": " caf\u00e9 \ud83d\ude00 "},
{"role": "assistant", "content": "<think>\nx\n</think>\n\ny", "tool_calls": [{"function": {"name": "f",
"arguments": {"a": 1}}}]}, {"role": "user", "content": "why?"}]})";

} // namespace

// Renders a template on one conversation: it succeeds or throws Error.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size)
{
    static const jinja::Value values = test::template_value(nlohmann::ordered_json::parse(context));
    try {
        const jinja::Template chat_template({reinterpret_cast<const char*>(data), size});
        chat_template.render(values.dict(), test::template_date());
    } catch (const Error&) {
    }
    return 0;
}
