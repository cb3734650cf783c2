// Renders templates for the scripts that compare them with Jinja2: one JSON document {"template", "contexts"} per
// line on standard input, and for each a line [{"text"} or {"error", "code"}, ...] on standard output.

#include <cstdio>
#include <exception>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "engine/text/jinja/template.h"
#include "kernels/base/error.h"
#include "tests/support/fixtures/json_value.h"

using namespace palimpsest;
using nlohmann::ordered_json;

namespace {

ordered_json failure(const Error& error)
{
    return {{"error", error.what()}, {"code", name_of(error.code())}};
}

ordered_json rendered(const std::string& source, const ordered_json& contexts)
{
    ordered_json results = ordered_json::array();
    try {
        const engine::jinja::Template chat_template(source);
        for (const auto& context : contexts) {
            try {
                results.push_back(
                    {{"text", chat_template.render(test::template_value(context).dict(), test::template_date())}});
            } catch (const Error& error) {
                results.push_back(failure(error));
            }
        }
    } catch (const Error& error) {
        results = std::vector<ordered_json>(contexts.size(), failure(error));
    }
    return results;
}

} // namespace

int main()
try {
    for (std::string line; std::getline(std::cin, line);) {
        const auto job = ordered_json::parse(line);
        std::cout << rendered(job["template"], job["contexts"]).dump() << std::endl;
    }
} catch (const std::exception& error) {
    std::fprintf(stderr, "render-template: %s\n", error.what());
    return 1;
}
