#include "app/reader/line_boxes.h"

#include "tests/support/catch.h"

namespace palimpsest::tests {

using namespace palimpsest::reader;

namespace {

constexpr double letter = 5;

// The piece of a line: as wide as its letters.
PdfBox piece(double left, double top, size_t letters)
{
    return {left, top, left + letter * static_cast<double>(letters), top + 10};
}

} // namespace

TEST_CASE("Pieces beside one another are a line, and pieces below them the next")
{
    const auto boxes =
        line_boxes({piece(50, 100, 4), piece(75, 101, 4), piece(50, 112, 9)}, {"over oaks", "hugs dawn"});
    REQUIRE(boxes.size() == 2);
    CHECK(boxes[0].box.left == 50);
    CHECK(boxes[0].box.right == 95);
    CHECK(boxes[0].box.top == 100);
    CHECK(boxes[0].box.bottom == 111);
    CHECK(boxes[1].box.top == 112);
}

TEST_CASE("Wide space between the pieces of a line is a gap")
{
    const LineBox row = line_box({piece(150, 100, 4), piece(50, 100, 4), piece(75, 101, 4)});
    CHECK(row.box.left == 50);
    CHECK(row.box.right == 170);
    REQUIRE(row.gaps.size() == 1);
    CHECK(row.gaps[0].left == 95);
    CHECK(row.gaps[0].right == 150);
}

TEST_CASE("A line at the top of the next column is another one")
{
    const auto boxes = line_boxes({piece(50, 500, 9), piece(300, 100, 9)}, {"over oaks", "hugs dawn"});
    REQUIRE(boxes.size() == 2);
    CHECK(boxes[1].box.left == 300);
}

TEST_CASE("Where it is not clear which pieces belong to which line, none is told")
{
    const auto count_of = [](const std::vector<PdfBox>& pieces, const std::vector<std::string>& lines) {
        return line_boxes(pieces, lines).size();
    };
    // Two cells of one row are two lines of the text.
    CHECK(count_of({piece(50, 100, 9), piece(150, 100, 9)}, {"over oaks", "hugs dawn"}) == 0);
    // Two lines beside one another, and one in two rows: as many rows as lines, but not theirs.
    CHECK(count_of({piece(50, 100, 4), piece(150, 100, 4), piece(50, 112, 9), piece(50, 124, 10)},
                   {"over", "oaks", "hugs dawn and a hill"}) == 0);
    CHECK(count_of({piece(50, 100, 2), piece(50, 112, 18)}, {"over oaks", "hugs dawn"}) == 0);
    // Written from right to left, in pieces.
    CHECK(count_of({piece(150, 100, 4), piece(50, 100, 4)}, {"over oaks"}) == 0);
    CHECK(count_of({}, {"over oaks"}) == 0);
    CHECK(count_of({}, {}) == 0);
}

TEST_CASE("A page turned on its side is not told")
{
    CHECK(line_boxes({{50, 100, 60, 145}, {62, 100, 72, 145}}, {"over oaks", "hugs dawn"}).empty());
}

} // namespace palimpsest::tests
