#include "app/reader/letter_sizes.h"

#include "tests/support/catch.h"

namespace palimpsest::tests {

using namespace palimpsest::reader;

namespace {

PdfLine line(const std::string& text, double height)
{
    return {.text = text, .is_divided = false, .left = 10, .top = 10, .right = 100, .bottom = 10 + height};
}

PdfPage page(const std::vector<PdfLine>& lines)
{
    return {.number = 0, .label = "1", .width = 400, .height = 600, .lines = lines, .sections = {}};
}

} // namespace

TEST_CASE("letters of one size are known in boxes of different heights")
{
    const PdfLine text = line("a usual line of the text, which is long", 10),
                  flat = line("one or two more of them", 7.8), deep = line("Things", 16), low = line("Boats", 12.5),
                  smaller = line("Planks", 9.4), no_title = line("A sentence in large letters.", 16);
    LetterSizes sizes;
    sizes.count(page({deep, text, flat, no_title}));
    sizes.count(page({low, text, text, smaller, flat}));
    sizes.decide();
    CHECK(sizes.of(flat) == Approx(10));
    CHECK(sizes.heading_level(deep) == 1);
    CHECK(sizes.heading_level(low) == 1);
    CHECK(sizes.heading_level(smaller) == 2);
    for (const PdfLine& other : {text, flat, no_title, PdfLine{.text = "not measured"}})
        CHECK(sizes.heading_level(other) == 0);
}

TEST_CASE("boxes that are all as high as the font are taken as they are")
{
    const PdfLine text = line("a usual line of the text, which is long", 10),
                  flat = line("one or two more of them", 10);
    LetterSizes sizes;
    sizes.count(page({text, flat, text, line("Things", 14), line("Boats", 14)}));
    sizes.decide();
    CHECK(sizes.of(flat) == Approx(10));
    CHECK(sizes.heading_level(line("Boats", 14)) == 1);
    CHECK(sizes.heading_level(flat) == 0);
}

TEST_CASE("a document without measured lines has no headings")
{
    LetterSizes sizes;
    sizes.count(page({PdfLine{.text = "a"}}));
    sizes.decide();
    CHECK(sizes.heading_level(line("Title", 40)) == 0);
}

} // namespace palimpsest::tests
