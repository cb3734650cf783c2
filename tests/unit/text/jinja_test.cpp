#include <chrono>
#include <fstream>

#include "engine/text/jinja/date.h"
#include "engine/text/jinja/template.h"
#include "kernels/base/error.h"
#include "tests/support/catch.h"
#include "tests/support/fixtures/json_value.h"
#include "tests/support/project_folders.h"

using namespace palimpsest;
using namespace palimpsest::engine;
using nlohmann::ordered_json;

namespace {

std::string read(const std::string& name)
{
    std::ifstream file(tests::source_file("tests/fixtures/templates/") + name, std::ios::binary);
    REQUIRE(file);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::string rendered(std::string_view source, const char* context = "{}")
{
    const auto values = test::template_value(ordered_json::parse(context));
    return jinja::Template(source).render(values.dict(), test::template_date());
}

void refuse(std::string_view source, ErrorCode code, const std::string& what)
{
    INFO(source);
    try {
        rendered(source);
        FAIL_CHECK("nothing was refused");
    } catch (const Error& error) {
        CHECK(error.code() == code);
        CHECK_THAT(error.text().english(), Catch::Contains(what));
    }
}

} // namespace

TEST_CASE("templates in the style of each family render as in Jinja2, on thirty conversations")
{
    const auto fixtures = ordered_json::parse(read("expected.json"));
    REQUIRE(fixtures["conversations"].size() == 30);
    for (const auto& [name, expected] : fixtures["expected"].items()) {
        const jinja::Template chat_template(read(name + ".jinja"));
        for (size_t i = 0; i < expected.size(); ++i) {
            INFO(name << ", conversation " << i);
            const auto context = test::template_value(fixtures["conversations"][i]);
            const auto render = [&] { return chat_template.render(context.dict(), test::template_date()); };
            if (expected[i].is_null())
                CHECK_THROWS_AS(render(), Error);
            else
                CHECK(render() == expected[i].get<std::string>());
        }
    }
}

TEST_CASE("white space around tags is removed as with trim_blocks and lstrip_blocks")
{
    CHECK(rendered("a\n  {% if true %}\nb\n  {% endif %}\nc") == "a\nb\nc");
    CHECK(rendered("a {%- if true -%} b {%- endif %} c") == "ab c");
    CHECK(rendered("  {%+ if true +%}\nb{% endif %}") == "  \nb");
    CHECK(rendered("a  {{- 1 -}}  b\n  {{ 2 }}\n") == "a1b\n  2");
    CHECK(rendered("a\n {# one #}\nb {#- two -#} c") == "a\nbc");
    CHECK(rendered("{% raw %}{{ x }}{% endraw -%} \n y") == "{{ x }}y");
    CHECK(rendered("a\r\nb\rc\r\n") == "a\nb\nc");
}

TEST_CASE("names are looked up from the innermost scope, and a loop's assignments end with it")
{
    CHECK(rendered("{% set x = 1 %}{% for i in [1, 2] %}{{ x }}{% set x = 5 %}{% endfor %}{{ x }}") == "111");
    CHECK(
        rendered("{% set n = namespace(x=1) %}{% for i in [1, 2] %}{% set n.x = n.x + i %}{% endfor %}{{ n.x }}") ==
        "4");
    CHECK(rendered("{% if true %}{% set x = 2 %}{% endif %}{{ x }}") == "2");
    CHECK(rendered("{% macro m() %}{{ x }}{% endmacro %}{% set x = 3 %}{{ m() }}") == "3");
    CHECK(rendered("{% for i in [1] %}{% macro m() %}{{ i }}{% endmacro %}{% set n = m %}{{ n() }}{% endfor %}") ==
          "1");
    CHECK(rendered("{% set f = namespace() %}{% for i in [1, 2] %}{% macro m() %}{{ i }}{% endmacro %}"
                   "{% set f.m = m %}{% endfor %}{{ f.m() }}") == "2");
}

TEST_CASE("values print as in Python")
{
    CHECK(rendered("{{ 1.0 }} {{ 1e16 }} {{ 1e-5 }} {{ 123456789.125 }} {{ -0.0 }}") ==
          "1.0 1e+16 1e-05 123456789.125 -0.0");
    CHECK(rendered("{{ [none, true, 'it\\'s', '\"', 'a\\n\\u00e9\\x01'] }}") ==
          "[None, True, \"it's\", '\"', 'a\\n\xC3\xA9\\x01']");
    CHECK(rendered("{{ {1: 'a', true: 'b'} }}{{ (1,) }}{{ () }}") == "{1: 'b'}(1,)()");
    CHECK(rendered("{{ x | tojson }}", R"({"x": {"k\n": ["\u00e9\u0001", 1.5, null, true, {}]}})") ==
          "{\"k\\n\": [\"\xC3\xA9\\u0001\", 1.5, null, true, {}]}");
    CHECK(rendered("{{ [1, [2]] | tojson(indent=1, separators=(',', ':')) }}") == "[\n 1,\n [\n  2\n ]\n]");
}

TEST_CASE("strings are sequences of code points")
{
    const char* context = R"({"s": "a\u00e9\ud83d\ude00z"})";
    CHECK(rendered("{{ s | length }}{{ s[2] }}{{ s[-1] }}{{ s[1:3] }}{{ s[::-2] }}{{ s[9] }}", context) ==
          "4\xF0\x9F\x98\x80z\xC3\xA9\xF0\x9F\x98\x80z\xC3\xA9");
    CHECK(rendered("{{ s.find('z') }}{{ s | upper }}{{ 'stra\\u00dfe'.upper() }}", context) ==
          "3A\xC3\x89\xF0\x9F\x98\x80ZSTRASSE");
    CHECK(rendered("{{ '\\u00a0 x\\u3000'.strip() }}|{{ 'xxaxx'.lstrip('x') }}|{{ ' a  b '.split() }}|"
                   "{{ 'a,b,c'.split(',', 1) }}|{{ 'a,b,c'.rsplit(',', 1) }}") ==
          "x|axx|['a', 'b']|['a', 'b,c']|['a,b', 'c']");
}

TEST_CASE("an undefined value prints nothing, is false, and has no attributes")
{
    CHECK(rendered("[{{ x }}{{ 'no' if x else 'yes' }}{{ x | length }}{% for i in x %}{% endfor %}]") == "[yes0]");
    CHECK(rendered("{{ {}.x is defined }}{{ 'a'.b is undefined }}") == "FalseTrue");
    refuse("{{ x.y }}", ErrorCode::TemplateEvaluation, "'x' is undefined");
    refuse("{{ {}.a.b }}", ErrorCode::TemplateEvaluation, "'dict object' has no attribute 'a'");
    refuse("{{ x + 'a' }}", ErrorCode::TemplateEvaluation, "'x' is undefined");
    refuse("{{ x() }}", ErrorCode::TemplateEvaluation, "'x' is undefined");
}

TEST_CASE("an unsupported feature is refused by name")
{
    refuse("{{ 1 | filesizeformat }}", ErrorCode::UnsupportedTemplate,
           "it uses filter 'filesizeformat', which is not supported");
    refuse("{{ 1 is xyz }}", ErrorCode::UnsupportedTemplate, "it uses test 'xyz', which is not supported");
    refuse("{% extends 'x' %}", ErrorCode::UnsupportedTemplate, "it uses tag 'extends', which is not supported");
    refuse("{% for a in b recursive %}{% endfor %}", ErrorCode::UnsupportedTemplate, "for ... recursive");
    refuse("{{ 'a' | join(wide=1) }}", ErrorCode::UnsupportedTemplate, "'wide'");
    CHECK(rendered("{% if false %}{{ 1 | filesizeformat }}{% endif %}").empty()); // not reached
}

TEST_CASE("a syntax error is refused with its line")
{
    refuse("a\n{% if %}", ErrorCode::TemplateSyntax, "line 2: the end of a tag is unexpected");
    refuse("{% if x %}", ErrorCode::TemplateSyntax, "the template ends");
    refuse("{{ 'a }}", ErrorCode::TemplateSyntax, "a string is not closed");
    refuse("{# a", ErrorCode::TemplateSyntax, "a comment is not closed");
    refuse("{{ (1] }}", ErrorCode::TemplateSyntax, "']' is unexpected");
    refuse("{{ 1 $ 2 }}", ErrorCode::TemplateSyntax, "'$' is unexpected");
    refuse("{% endfor %}", ErrorCode::TemplateSyntax, "'endfor' is unknown or unexpected");
    refuse("{% break %}", ErrorCode::TemplateSyntax, "outside of a loop");
}

TEST_CASE("operations that Python refuses are refused")
{
    refuse("{{ 'a' + 1 }}", ErrorCode::TemplateEvaluation, "'+' is not supported between str and int");
    refuse("{{ 1 // 0 }}", ErrorCode::TemplateEvaluation, "divides by zero");
    refuse("{{ 9223372036854775807 + 1 }}", ErrorCode::TemplateEvaluation, "more than 64 bits");
    refuse("{{ [1].append(2) }}", ErrorCode::TemplateEvaluation, "may not do");
    refuse("{{ x | tojson }}", ErrorCode::TemplateEvaluation, "cannot be written as JSON");
    refuse("{{ 1 < 'a' }}", ErrorCode::TemplateEvaluation, "'<' is not supported");
    refuse("{% set a, b = [1] %}", ErrorCode::TemplateEvaluation, "1 values are assigned to 2 names");
    refuse("{{ raise_exception('no tools\n') }}", ErrorCode::TemplateRefusesConversation,
           "it refuses the conversation: no tools");
}

TEST_CASE("strftime_now formats the given date in English")
{
    CHECK(rendered("{{ strftime_now('%A %a %d %-d %B %b %m %Y %y %H:%M:%S %I %p %j %%') }}") ==
          "Friday Fri 26 26 July Jul 07 2024 24 14:05:09 02 PM 208 %");
    using namespace std::chrono;
    const std::tm leap = jinja::date_of(sys_days(year(2024) / December / 31));
    CHECK(jinja::format_date(leap, "%F %j %u") == "2024-12-31 366 2");
    refuse("{{ strftime_now('%Q') }}", ErrorCode::UnsupportedTemplate, "'%Q'");
}
