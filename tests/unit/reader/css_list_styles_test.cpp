#include "app/reader/css_list_styles.h"

#include "tests/support/catch.h"

namespace palimpsest::tests {

using namespace palimpsest::reader;

TEST_CASE("a style sheet says which classes number with letters")
{
    CssListStyles styles;
    styles.read("@charset 'utf-8'; ol.a, div > ol.b:first-child { color: red; list-style-type: lower-alpha }\n"
                "/* .c { list-style: upper-roman } */ .d { list-style: none } ol { list-style: lower-roman }\n"
                "@media print { .e { list-style: upper-roman inside } } .f li { list-style-type: lower-roman }");
    CHECK(styles.of("x a y") == NumberStyle::LowerLetter);
    CHECK(styles.of("b") == NumberStyle::LowerLetter);
    CHECK(styles.of("e") == NumberStyle::UpperRoman);
    for (const char* none : {"", "c", "d", "f", "ol", "li"})
        CHECK(styles.of(none) == std::nullopt);
    styles.read(".a { list-style-type: upper-latin; }");
    CHECK(styles.of("a") == NumberStyle::UpperLetter);
}

TEST_CASE("any bytes of a style sheet are passed over")
{
    const std::string css = "@a{b:c}.d{list-style:lower-roman}/*x*/,.,..{;}";
    for (size_t length = 0; length <= css.size(); ++length)
        CHECK_NOTHROW(CssListStyles().read(css.substr(0, length) + "}{/*"));
}

} // namespace palimpsest::tests
