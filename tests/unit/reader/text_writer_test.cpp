#include "app/reader/text_writer.h"

#include "tests/support/catch.h"
#include "tests/unit/reader/written.h"

namespace palimpsest::tests {

using reader::TextWriter;

TEST_CASE("blocks are separated by a blank line, lines of one list are not")
{
    CHECK(written([](TextWriter& writer) {
              writer.block("One.");
              writer.line("- a");
              writer.line("- b");
              writer.gap();
              writer.line("1. c");
              writer.block("Two.");
              writer.block("");
              writer.block("Three.");
          }) == "One.\n\n- a\n- b\n\n1. c\n\nTwo.\n\nThree.");
}

TEST_CASE("sections and pages begin with the first byte of their text")
{
    CHECK(written([](TextWriter& writer) {
              writer.page("1");
              writer.heading(1, "  Part\n One ");
              writer.block("Text.");
              writer.section(2, "Unseen");
              writer.block("abcdef", {{2, "2"}, {4, "3"}});
          }) == "<1>{1 Part One}Part One\n\nText.\n\n{2 Unseen}ab<2>cd<3>ef");
}

TEST_CASE("pages without text begin where the next page or the end is")
{
    CHECK(written([](TextWriter& writer) {
              writer.page("1");
              writer.page("2");
              writer.block("One.");
              writer.page("3");
              writer.line("- a");
              writer.page("4");
              writer.heading(1, "T");
              writer.page("5");
              writer.page("6");
          }) == "<1><2>One.\n\n<3>- a\n\n<4>{1 T}T<5><6>");
}

TEST_CASE("a page without a label is left out")
{
    CHECK(written([](TextWriter& writer) {
              writer.page(" \x01 ");
              writer.block("abcd", {{2, ""}, {3, "2"}});
          }) == "abc<2>d");
}

TEST_CASE("a page never begins within a character, and pages never go back")
{
    CHECK(written([](TextWriter& writer) {
              writer.block("aüb", {{2, "1"}, {1, "2"}, {99, "3"}});
          }) == "aü<1><2>b<3>");
}

TEST_CASE("text becomes valid UTF-8 without control characters")
{
    CHECK(reader::clean_text("a\r\nb\rc\x01\x7F\td") == "a\nb\nc\td");
    CHECK(reader::clean_text("a\xFF\xC3") == "a\xEF\xBF\xBD\xEF\xBF\xBD");
    CHECK(reader::clean_text("\xEF\xBB\xBFx\xC2\xA0y\xC2\x85z") == "x\xC2\xA0yz"); // a no-break space stays
    CHECK(reader::clean_text("soft\xC2\xADhyphen") == "softhyphen");
    CHECK(reader::on_one_line(" a \n\t b\xC2\xA0 ") == "a b\xC2\xA0");
}

TEST_CASE("a long text is written in pieces of whole characters")
{
    std::string text;
    for (size_t i = 0; i < storage::longest_reader_text; ++i)
        text += "a\xE2\x82\xAC";
    CHECK(written([&](TextWriter& writer) { writer.block(text); }) == text);
}

} // namespace palimpsest::tests
