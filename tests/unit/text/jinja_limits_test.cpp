// Templates made to be expensive, or to break the interpreter, must fail with one readable error.

#include "engine/text/jinja/template.h"
#include "kernels/base/error.h"
#include "tests/support/catch.h"
#include "tests/support/fixtures/json_value.h"

using namespace palimpsest;
using namespace palimpsest::engine;

namespace {

std::string repeated(const std::string& text, size_t times)
{
    std::string all;
    for (size_t i = 0; i < times; ++i)
        all += text;
    return all;
}

void refuse(const std::string& source, const std::string& what, ErrorCode code = ErrorCode::TemplateTooExpensive)
{
    INFO(source.substr(0, 200));
    try {
        jinja::Template(source).render({}, test::template_date());
        FAIL_CHECK("nothing was refused");
    } catch (const Error& error) {
        CHECK(error.code() == code);
        CHECK_THAT(error.text().english(), Catch::Contains(what));
    }
}

// May succeed or throw Error, but not crash.
void run(const std::string& source)
{
    try {
        jinja::Template(source).render({}, test::template_date());
    } catch (const Error&) {
    }
}

} // namespace

TEST_CASE("very long loops are refused")
{
    refuse("{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}", "more than");
    refuse("{{ range(1000000000000) }}", "range of more than 100000");
    refuse("{{ range(100001) }}", "range of more than 100000");
    refuse("{{ range(1, 2, 0) }}", "the step of a range is 0", ErrorCode::TemplateEvaluation);
    refuse("{% set r = range(100000) | list %}{% for a in r %}{{ a in r }}{% endfor %}", "steps");
    refuse("{% set r = range(100000) %}{% for a in r %}{{ r | sort | length }}{% endfor %}", "");
    refuse(repeated("{% for a in range(99) %}", 50) + repeated("{% endfor %}", 50), "more than");
}

TEST_CASE("recursive macros are refused")
{
    refuse("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "too deeply");
    refuse("{% macro m() %}{{ m() }}{{ m() }}{% endmacro %}{{ m() }}", "too deeply");
    refuse("{% macro m(n) %}{% if n > 0 %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(60) }}",
           "steps");
    refuse("{% macro a() %}{% call a() %}{{ caller() }}{% endcall %}{% endmacro %}{{ a() }}", "too deeply");
    run("{{ 'a' | map(" + repeated("'map',", 20000) + "'upper') | list }}");
    run("{% set n = namespace() %}{% set n.n = n %}{{ n }}{{ n == n }}{{ n | tojson }}");
}

TEST_CASE("text that grows too large is refused")
{
    refuse("{% set n = namespace(x='aaaaaaaa') %}{% for i in range(90) %}{% set n.x = n.x + n.x %}{% endfor %}",
           "MiB");
    refuse("{{ 'a' * 9000000000000000000 }}", "MiB");
    refuse("{{ [1] * 9000000000000000000 }}", "MiB");
    refuse("{% for i in range(100000) %}{{ 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' }}{% endfor %}",
           "prints more than 1 MiB");
    refuse("{{ '%999999999d' % 1 }}", "wide");
    refuse("{{ 'a' | indent(999999999) }}", "1000 spaces");
    refuse("{{ 'a' | center(999999999) }}", "10000");
    refuse("{% set n = namespace(x=[1]) %}{% for i in range(60) %}{% set n.x = [n.x, n.x] %}{% endfor %}{{ n.x }}",
           "");
    refuse("{% set n = namespace(x=[1]) %}{% for i in range(60) %}{% set n.x = [n.x, n.x] %}{% endfor %}"
           "{{ n.x == n.x }}",
           "steps");
    refuse("{% set n = namespace(x=[1]) %}{% for i in range(60) %}{% set n.x = {'a': n.x, 'b': n.x} %}{% endfor %}"
           "{{ n.x | tojson | length }}",
           "");
    refuse("{{ 'aaaaaaaaaaaaaaaaaaaa'.replace('', 'b' * 1000000).replace('', 'c' * 1000) }}", "more than");
}

TEST_CASE("searching a text takes linear time and counts as steps")
{
    // Half of each needle matches at every place of the text: a naive search takes hours.
    const std::string texts = "{% set text = 'a' * 1000000 %}{% set half = 'a' * 500000 + 'b' %}"
                              "{% set half_back = 'b' + 'a' * 500000 %}";
    const auto rendered = [&](const std::string& source) {
        return jinja::Template(texts + source).render({}, test::template_date());
    };
    CHECK(rendered("{{ half in text }} {{ text.find(half) }} {{ text.rfind(half_back) }}") == "False -1 -1");
    CHECK(
        rendered("{{ text.count(half) }} {{ text.split(half) | length }} {{ text.rsplit(half_back) | length }}") ==
        "0 1 1");
    CHECK(rendered("{{ text.replace(half, '') | length }} {{ text.partition(half)[2] | length }}") == "1000000 0");
    CHECK(rendered("{{ text.rpartition(half_back)[0] | length }}") == "0");

    const auto many_times = [&](const std::string& source) {
        return texts + "{% for i in range(99999) %}{% set x = " + source + " %}{% endfor %}";
    };
    for (const std::string source :
         {"'a' in text", "half in text", "text.find('b')", "text.rfind('b')", "text.count('b')", "'a'.find(half)",
          "'a'.count(half)", "'a'.partition(half)", "'a'.startswith(half)", "text.startswith(half)",
          "'a'.replace(half, '')", "'a'.removeprefix(half)", "'a'.strip(half)", "'a'.split(half)",
          "text.partition('b')", "text is in [text]", "text | attr(text)", "[text] | map(attribute=text) | list"})
        refuse(many_times(source), "more than");
}

TEST_CASE("strip takes time that is linear in the lengths of both texts")
{
    CHECK(jinja::Template("{% set text = 'a' * 400000 %}{% set chars = 'b' * 400000 + 'a' %}"
                          "[{{ text.strip(chars) }}{{ text.lstrip(chars) }}{{ text.rstrip(chars) }}]")
              .render({}, test::template_date()) == "[]");
}

TEST_CASE("comparing a text with many others counts as steps")
{
    refuse("{% set text = 'a' * 100000 %}{% set t = (text + 'b',) * 99999 %}"
           "{% for i in range(99) %}{{ text.startswith(t) }}{% endfor %}",
           "steps");
    refuse("{% set text = 'a' * 100000 %}{% set t = ('b' + text,) * 99999 %}"
           "{% for i in range(99) %}{{ text.endswith(t) }}{% endfor %}",
           "steps");
    refuse("{% set t = (1,) * 99999 %}{% for i in range(99) %}{{ 'a'.startswith(t) }}{% endfor %}", "steps");
}

TEST_CASE("the keys of dicts count as memory, and looking them up counts as steps")
{
    const std::string key = "{% set k = 'a' * 60000 %}";
    refuse(key + "{% set x = [" + repeated("{k: 1},", 2000) + "] %}", "MiB");
    refuse(key + "{% set d = {k: 1} %}{% set x = [" + repeated("dict(d),", 2000) + "] %}", "MiB");
    refuse(key + "{% set x = [" + repeated("dict([(k, 1)]),", 2000) + "] %}", "MiB");
    refuse(key + "{{ {(k, k): 1} }}", "as a key");
    refuse(key + "{% set d = {k: 1} %}{% for i in range(9999) %}{{ d[k] }}{{ d.get(k) }}{{ k in d }}{% endfor %}",
           "steps");
    refuse(key + "{% set d = {k: 1} %}{% for i in range(9999) %}{{ d == d }}{% endfor %}", "steps");
}

TEST_CASE("arguments that map passes on for every item count as steps, and long names are refused")
{
    refuse("{{ ([[]] * 99999) | map('map', 'upper', *([1] * 99999)) | list }}", "steps");
    refuse("{{ " + std::string(1001, 'a') + " }}", "a name has more than 1000 bytes", ErrorCode::TemplateSyntax);
}

TEST_CASE("deep nesting is refused")
{
    refuse("{{ " + repeated("(", 100000) + "1" + repeated(")", 100000) + " }}", "200 deep");
    refuse("{{ " + repeated("[", 100000) + repeated("]", 100000) + " }}", "200 deep");
    refuse("{{ " + repeated("-", 100000) + "1 }}", "200 deep");
    refuse("{{ " + repeated("not ", 100000) + "1 }}", "200 deep");
    refuse("{{ 1" + repeated(" + 1", 100000) + " }}", "200 deep");
    refuse("{{ x" + repeated(".a", 100000) + " }}", "200 deep");
    refuse("{{ x" + repeated("|e", 100000) + " }}", "200 deep");
    refuse("{{ x" + repeated(" is defined() ", 100000) + " }}", "200 deep");
    refuse("{{ x" + repeated(" if x", 100000) + " }}", "200 deep");
    refuse("{{ 1" + repeated(" if x else 1", 100000) + " }}", "200 deep");
    refuse(repeated("{% if true %}", 100000), "100 deep");
    refuse("{% set n = namespace(x=[]) %}{% for i in range(99999) %}{% set n.x = [n.x] %}{% endfor %}", "64 deep");
    refuse("{% set n = namespace(x=[]) %}{% for i in range(99999) %}{% set n.x = [[n.x].count] %}{% endfor %}",
           "64 deep");
    refuse("{% set n = namespace(x=[]) %}{% for i in range(9999) %}{% for j in [n.x] %}{% set n.x = [loop] %}"
           "{% endfor %}{% endfor %}",
           "64 deep");
    run("{% if x %}" + repeated("{% elif x %}", 50000) + "{% endif %}");
    run("{{ 1" + repeated(" ~ 1", 50000) + " }}");
    run("{{ 1" + repeated(" < 2", 50000) + " }}");
}

TEST_CASE("copies that filters make count as memory, and long keys are refused")
{
    refuse("{% set x = 'a' * 1000000 %}{{ ([x] * 1000) | sort }}", "it makes more than");
    refuse("{% set x = 'a' * 1000000 %}{{ {x: 1} }}", "as a key");
}

TEST_CASE("numbers at the limits of 64 bits are computed exactly or refused")
{
    refuse("{{ 99999999999999999999 }}", "more than 64 bits", ErrorCode::TemplateSyntax);
    refuse("{{ 10 ** 100 }}", "64 bits", ErrorCode::TemplateEvaluation);
    refuse("{{ (0 - 9223372036854775807 - 1) // -1 }}", "64 bits", ErrorCode::TemplateEvaluation);
    refuse("{{ -(0 - 9223372036854775807 - 1) }}", "64 bits", ErrorCode::TemplateEvaluation);
    refuse("{{ '%d' % 1e300 }}", "too large", ErrorCode::TemplateEvaluation);
    CHECK(
        jinja::Template("{{ (0 - 9223372036854775807 - 1) % -1 }}{{ 1e300 | int }}{{ 'abc'[9223372036854775807:] }}"
                        "{{ 'abc'[::9223372036854775807] }}{{ 'abc'[::(0 - 9223372036854775807 - 1)] }}")
            .render({}, test::template_date()) == "00ac");
    CHECK(jinja::Template("{{ 9223372036854775807 % -2 }} {{ -9223372036854775807 % 3 }} {{ -7 % 3 }} {{ 7 % -3 }} "
                          "{{ 1.5 | round(0 - 9223372036854775807 - 1) }}")
              .render({}, test::template_date()) == "-1 2 2 -2 0.0");
    run("{{ range(9223372036854775800, 9223372036854775807, 5) }}{{ 0 ** 9223372036854775807 }}");
}
