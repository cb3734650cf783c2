// Headings in a stream of text: which lines are headings, and the positions of their tokens.

#include "engine/text/section_finder.h"
#include "engine/text/unicode/utf8_cleaner.h"
#include "tests/support/catch.h"

using namespace palimpsest::engine;

namespace {

// Pushes text in pieces of `piece` bytes, and tokens of `token_bytes` bytes that end `lag` bytes before the text.
std::vector<Heading> headings(Markup markup, const std::string& text, size_t piece = 1 << 20, size_t lag = 0,
                              size_t token_bytes = 3)
{
    SectionFinder finder(markup);
    std::vector<Heading> all;
    uint64_t tokens_end = 0;
    const auto tokens_to = [&](uint64_t end, bool last) {
        std::vector<EncodedToken> tokens;
        while (tokens_end + token_bytes <= end || (last && tokens_end < end)) {
            const uint64_t next = std::min<uint64_t>(end, tokens_end + token_bytes);
            tokens.push_back({0, tokens_end, next});
            tokens_end = next;
        }
        finder.push(tokens);
        for (Heading& h : finder.take())
            all.push_back(std::move(h));
    };
    for (size_t at = 0; at < text.size(); at += piece) {
        const std::string_view part = std::string_view(text).substr(at, piece);
        finder.push(part);
        const size_t end = at + part.size();
        tokens_to(end > lag ? end - lag : 0, false);
    }
    tokens_to(text.size(), true);
    finder.finish();
    for (Heading& h : finder.take())
        all.push_back(std::move(h));
    for (const Heading& h : all)
        REQUIRE(h.first_token == h.first_byte / token_bytes);
    return all;
}

std::vector<std::string> titles(Markup markup, const std::string& text)
{
    std::vector<std::string> all;
    for (const Heading& h : headings(markup, text))
        all.push_back(h.title);
    return all;
}

using Titles = std::vector<std::string>;

} // namespace

TEST_CASE("Markdown headings have levels, given ones keep theirs, and guessed ones have none")
{
    const auto levels = [](Markup markup, const std::string& text) {
        std::vector<int> all;
        for (const Heading& h : headings(markup, text))
            all.push_back(h.level);
        return all;
    };
    CHECK(levels(Markup::Markdown, "# a\n\n### b\n\nc\n=\n\nd\n-\n\n###### e\n") ==
          std::vector<int>{1, 3, 1, 2, 6});
    CHECK(levels(Markup::Plain, "BOOK I\n\nCHAPTER II\n\ntext\n") == std::vector<int>{1, 1});
    SectionFinder given(Markup::Given);
    given.add(4, "t", 0);
    given.push(std::vector<EncodedToken>{{0, 0, 1}});
    CHECK(given.take().at(0).level == 4);
}

TEST_CASE("Markdown headings with # signs or underlines are found")
{
    const auto markdown = [](const std::string& text) { return titles(Markup::Markdown, text); };
    CHECK(markdown("# One\ntext\n\n###### Six ######\n####### seven\n#none\n   ## Two #\n    # code\n#\n") ==
          Titles{"One", "Six", "Two"});
    CHECK(markdown("Title\n=====\n\ntext\n\nSub\n---\nNext\n-\n") == Titles{"Title", "Sub", "Next"});
    // These lines are underlined, but no headings: a rule, front matter, a paragraph of two lines, a list, a table,
    // a quotation.
    CHECK(markdown("text\n\n---\n").empty());
    CHECK(markdown("---\ntitle: x\n---\ntext\n").empty());
    CHECK(markdown("one\ntwo\n---\n\n- item\n---\n\n1. item\n---\n\na | b\n---\n\n> said\n---\n").empty());
    CHECK(markdown("CHAPTER I\n\ntext\n").empty());
}

TEST_CASE("lines of a code block are no headings")
{
    const auto markdown = [](const std::string& text) { return titles(Markup::Markdown, text); };
    CHECK(markdown("```sh\n# comment\n````\n# One\n~~~\n# a\n```\n# b\n~~~\n# Two\n") == Titles{"One", "Two"});
    CHECK(markdown("````\n# a\n```\n# b\n````\n# One\n") == Titles{"One"});
    CHECK(markdown("```code``` in a line\n# One\n") == Titles{"One"});
    CHECK(markdown("```\n# never closed\n").empty());
}

TEST_CASE("chapter headings of plain text are found")
{
    const auto plain = [](const std::string& text) { return titles(Markup::Plain, text); };
    CHECK(plain("CHAPTER I\nDown the Rabbit-Hole\n\ntext\n\nChapter 12.\n\nBook the First: Recalled to Life\n\n"
                "PART TWO \xe2\x80\x94 Up River\n\ntext\n\nVolume iv\ntext") ==
          Titles{"CHAPTER I", "Chapter 12.", "Book the First: Recalled to Life", "PART TWO \xe2\x80\x94 Up River",
                 "Volume iv"});
    // Sentences that begin like a heading, and lines within a paragraph.
    CHECK(plain("Part two of the plan was simple.\n\nChapter I have read.\n\nBook 3. It goes on\nand "
                "on.\n\nchapter 1\n\n"
                "text\nChapter 1\ntext\n\nPartly 1\n\nBOOk 1\n")
              .empty());
    CHECK(plain("# comment\n\ntext\n").empty());
    CHECK(plain("PREFACE\n\ntext\n\nTHE KEEPER'S LOG OF 1871\n\ntext\n\nEPILOGUE.") ==
          Titles{"PREFACE", "THE KEEPER'S LOG OF 1871", "EPILOGUE."});
    CHECK(plain("HELP!\n\nNO\n\n* * *\n\n1871\n\nTHE LINE\nof a paragraph\n\nand ANOTHER\n\nSHE SAID, \n").empty());
    CHECK(plain("A" + std::string(60, 'B') + "\n\n").empty());
}

TEST_CASE("headings are found with the line ends of any system")
{
    const std::string markdown = "\xEF\xBB\xBF# One\r\ntext\r\n\r\nTwo\r\n---\r\n",
                      old = "# One\rtext\r\rTwo\r---\r";
    CHECK(titles(Markup::Markdown, clean_utf8(markdown)) == Titles{"One", "Two"});
    CHECK(titles(Markup::Markdown, clean_utf8(old)) == Titles{"One", "Two"});
    CHECK(titles(Markup::Plain, clean_utf8("PREFACE\r\n\r\ntext\r\n\r\nChapter 2\r\n")) ==
          Titles{"PREFACE", "Chapter 2"});
}

TEST_CASE("headings and their tokens do not depend on how text and tokens arrive")
{
    const std::string markdown =
        "# One\n\ntext of the first\n\nTwo\n===\nmore\n## Three ##\n```\n# no\n```\nthe end\n";
    const std::string plain =
        "PREFACE\n\nIt was so.\n\nCHAPTER I\n\nIt was not.\n\nCHAPTER II. The Sea\n\nEnd.\n\nINDEX";
    for (const auto& [markup, text, count] :
         {std::tuple{Markup::Markdown, markdown, 3u}, std::tuple{Markup::Plain, plain, 4u}}) {
        const auto whole = headings(markup, text);
        REQUIRE(whole.size() == count);
        for (const Heading& h : whole)
            CHECK(text.substr(h.first_byte).find(h.title) <= 3);
        for (const size_t piece : {1u, 2u, 5u, 16u})
            for (const size_t lag : {0u, 1u, 7u, 40u}) {
                const auto cut = headings(markup, text, piece, lag);
                REQUIRE(cut.size() == whole.size());
                for (size_t i = 0; i < cut.size(); ++i) {
                    CHECK(cut[i].title == whole[i].title);
                    CHECK(cut[i].first_byte == whole[i].first_byte);
                }
            }
    }
}

TEST_CASE("long titles are cut, long lines are skipped, and memory stays bounded")
{
    std::string title = "# ";
    for (int i = 0; i < 70; ++i)
        title += "\xe2\x82\xac"; // three bytes each
    const auto cut = headings(Markup::Markdown, title + "\n");
    REQUIRE(cut.size() == 1);
    CHECK(cut[0].title.size() == 198);
    CHECK(headings(Markup::Markdown, "# " + std::string(100000, 'x') + "\n# One\n", 4096).size() == 1);

    // A million lines without a heading, then one heading; and more headings than the finder stores.
    std::string many;
    for (int i = 0; i < 1000000; ++i)
        many += "a line\n";
    const auto last = headings(Markup::Plain, many + "\nCHAPTER I\n", 65536, 1000);
    REQUIRE(last.size() == 1);
    CHECK(last[0].first_byte == many.size() + 1);
    std::string all_headings;
    for (int i = 0; i < 10100; ++i)
        all_headings += "# x\n";
    CHECK(headings(Markup::Markdown, all_headings, 65536).size() == 10000);
}
