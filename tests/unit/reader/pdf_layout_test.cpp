#include "app/reader/pdf_layout.h"

#include "tests/support/catch.h"
#include "tests/unit/reader/written.h"

namespace palimpsest::tests {

using namespace palimpsest::reader;

namespace {

constexpr double width = 400, height = 600, left = 50, leading = 12, letters = 9, letter_width = 6;

// A page whose lines follow one another from the top. A line is placed by what it begins with: "^" 30 points lower,
// ">" indented, "|" in the right column, back at the top; "#" in large letters.
class Page {
public:
    explicit Page(const std::string& label)
        : page_{.number = 0, .label = label, .width = width, .height = height, .lines = {}, .sections = {}}
    {
    }

    Page& line(std::string text)
    {
        double x = left, size = letters;
        for (; !text.empty() && std::string("^>|#").find(text[0]) != std::string::npos; text.erase(0, 1)) {
            if (text[0] == '^') y_ += 30;
            if (text[0] == '>') x += 15;
            if (text[0] == '#') size = 20;
            if (text[0] == '|') column_ = 160, y_ = 100;
        }
        at(text, x + column_, y_, size);
        y_ += leading;
        return *this;
    }
    Page& at(const std::string& text, double x, double y, double size = letters)
    {
        page_.lines.push_back({.text = text,
                               .is_divided = false,
                               .left = x,
                               .top = y,
                               .right = x + letter_width * static_cast<double>(text.size()),
                               .bottom = y + size});
        return *this;
    }
    // Of the last line.
    Page& gap(double from, double to)
    {
        page_.lines.back().gaps.push_back({from, to});
        return *this;
    }
    Page& section(int level, const std::string& title)
    {
        page_.sections.push_back({level, title});
        return *this;
    }
    PdfPage get() const { return page_; }

private:
    PdfPage page_;
    double y_ = 100, column_ = 0;
};

std::string laid_out(const std::vector<Page>& pages, bool has_outline = true)
{
    return written([&](TextWriter& writer) {
        RunningHeads heads;
        for (const Page& page : pages) {
            std::vector<std::string> lines;
            for (const PdfLine& line : page.get().lines)
                lines.push_back(line.text);
            heads.count(lines);
        }
        LetterSizes sizes;
        std::vector<PdfPage> without;
        for (size_t i = 0; i < pages.size(); ++i) {
            without.push_back(pages[i].get());
            without.back().number = static_cast<int>(i);
            heads.remove(without.back());
            sizes.count(without.back());
        }
        sizes.decide();
        PdfLayout layout(has_outline, sizes, writer);
        for (const PdfPage& page : without)
            layout.write(page);
        layout.finish();
    });
}

const std::string full = "a line that is as long as every line"; // 36 letters

} // namespace

TEST_CASE("lines become paragraphs")
{
    CHECK(laid_out({Page("1").line(full).line(full).line("its end.").line(full).line("another end.")}) ==
          "<1>" + full + " " + full + " its end.\n\n" + full + " another end.");
    CHECK(laid_out({Page("1").line(full).line("^" + full).line(">" + full).line(full)}) ==
          "<1>" + full + "\n\n" + full + "\n\n" + full + " " + full);
    CHECK(laid_out({Page("1").line(full).line("1. one").line("2. two").line("\xE2\x80\xA2 three")}) ==
          "<1>" + full + "\n\n1. one\n\n2. two\n\n\xE2\x80\xA2 three");
    CHECK(laid_out({Page("1").line(full).line("short line").line("another").line(full)}) ==
          "<1>" + full + " short line\nanother\n" + full); // code or verse keeps its lines
}

TEST_CASE("a paragraph ends where the first word of the next line would have had room")
{
    const std::string ragged = "a line that is not quite as long as", nearly = "a line that is nearly that long.",
                      begin = "<1>" + full + " " + ragged + " " + nearly;
    const auto followed_by = [&](const std::string& line) {
        return laid_out({Page("1").line(full).line(ragged).line(nearly).line(line).line("end.")});
    };
    CHECK(followed_by("I am the next line, of another block") ==
          begin + "\n\nI am the next line, of another block end.");
    CHECK(followed_by("Nevertheless this is the same block.") ==
          begin + " Nevertheless this is the same block. end.");
}

TEST_CASE("in justified text, a line that ends a sentence and is not full ends its paragraph")
{
    const std::string nearly = "a line that is as long as nearly as."; // the next word has no room
    Page page("1");
    for (int i = 0; i < 6; ++i)
        page.line(full + "of");
    page.line(nearly).line("Nevertheless this is a new block, now.").line("end.");
    CHECK_THAT(laid_out({page}), Catch::Contains(nearly + "\n\nNevertheless"));
}

TEST_CASE("a quotation with wider margins is one paragraph")
{
    CHECK(laid_out({Page("1")
                        .line(full)
                        .line(full + ".")
                        .line(">a quotation that is farther")
                        .line(">from the margins on either")
                        .line(">side of it than other text")
                        .line(">is.")
                        .line(full)
                        .line(full)
                        .line("end.")}) ==
          "<1>" + full + " " + full +
              ".\n\na quotation that is farther from the margins on either side of it "
              "than other text is.\n\n" +
              full + " " + full + " end.");
}

TEST_CASE("a gap ends a stanza, and evenly spaced rows are one table")
{
    CHECK(laid_out({Page("1")
                        .at("Roses are red and", left, 100)
                        .at("violets are blue,", left, 112)
                        .at("sugar is sweet", left, 124)
                        .at("and so are you", left, 140)
                        .at("as they say,", left, 152)
                        .at(full, left, 190)}) ==
          "<1>Roses are red and\nviolets are blue,\nsugar is sweet\n\nand so are you\nas they say,\n\n" + full);
    Page table("1");
    table.line(full).line(full).line("end.");
    for (const auto& [row, y] : {std::pair("Larch 590", 150), {"Oak 720", 166}, {"Ash 690", 182}, {"Elm 560", 198}})
        table.at(row, left, y);
    for (int i = 0; i < 5; ++i)
        table.at(full, left, 230 + 12 * i);
    CHECK_THAT(laid_out({table}), Catch::Contains("end.\n\nLarch 590\nOak 720\nAsh 690\nElm 560\n\n" + full));
}

TEST_CASE("items may have letters, and words that look like them are none")
{
    const std::string roe = "the judges decided in the case of Roe", wade = "v. Wade that it holds for everyone.";
    CHECK(laid_out({Page("1").line("These are two:").line("a. one").line("b. two.").line(roe).line(wade)}) ==
          "<1>These are two:\n\na. one\n\nb. two.\n\n" + roe + " " + wade);
    CHECK(laid_out({Page("1").line(full).line(">i. one").line(">ii. two").line("\xEF\x82\xB7 three").line(full)}) ==
          "<1>" + full + "\n\ni. one\n\nii. two\n\n\xEF\x82\xB7 three\n" + full);
}

TEST_CASE("raised letters and other fonts go on in their line")
{
    CHECK(laid_out({Page("1").line(full).at("Y", 50, 112).at("2", 56, 110, 5).at(" and X", 61, 112).line(full)})
              .substr(0, 60) == "<1>" + full + " Y2 and X" + "\n" + full.substr(0, 11));
}

TEST_CASE("a paragraph goes on in the next column and on the next page")
{
    Page columns("1");
    const std::string part = "a line of a column";
    for (int i = 0; i < 8; ++i)
        columns.line(part);
    columns.line("|" + part);
    for (int i = 0; i < 7; ++i)
        columns.line(part);
    const std::string text = laid_out({columns, Page("2").line(full).line("ends.")});
    CHECK(text.find("\n\n") == std::string::npos);
    CHECK(text.ends_with("column <2>" + full + " ends."));
    CHECK(laid_out({Page("1").line(full + "."), Page("2").line(full)}) == "<1>" + full + ".\n\n<2>" + full);
    // A sentence that ends with a full page rarely ends its paragraph.
    Page page("1");
    for (int i = 0; i < 5; ++i)
        page.line(full);
    CHECK_THAT(laid_out({page.line(full + "."), Page("2").line(full)}), Catch::EndsWith(". <2>" + full));
    CHECK_THAT(laid_out({page, Page("2").line(">" + full).line(full)}),
               Catch::EndsWith(".\n\n<2>" + full + " " + full));
    Page item("1");
    for (int i = 0; i < 4; ++i)
        item.line(full);
    item.line("\xE2\x80\xA2 an item").line(">" + full + ".");
    CHECK_THAT(laid_out({item, Page("2").line(">" + full).line(full)}), Catch::Contains(full + ". <2>" + full));
    CHECK_THAT(laid_out({item, Page("2").line(full).line(full)}), Catch::Contains(full + ".\n\n<2>" + full));
    CHECK_THAT(laid_out({page.line("end."), Page("2").line(full)}), Catch::EndsWith("end.\n\n<2>" + full));
}

TEST_CASE("the first line of a paragraph is no running head, however often it comes again")
{
    std::vector<Page> pages;
    for (int i = 1; i <= 6; ++i) {
        Page page(std::to_string(i));
        page.at("Annals", left, 20)
            .at("In the year " + std::to_string(1700 + i) + " nothing was as it was", left, 50);
        for (int line = 0; line < 4; ++line)
            page.at("before, " + std::string(9, static_cast<char>('a' + 4 * i + line)), left, 62 + 12 * line);
        pages.push_back(page);
    }
    const std::string text = laid_out(pages);
    CHECK(text.find("Annals") == text.npos);
    for (int i = 1; i <= 6; ++i)
        CHECK(text.find("In the year " + std::to_string(1700 + i) + " nothing") != text.npos);
}

TEST_CASE("pages without text keep their labels")
{
    CHECK(laid_out({Page("1"), Page("2").line(full), Page("3"), Page("4").line("and its end."), Page("5")}) ==
          "<1><2>" + full + " <3><4>and its end.<5>");
}

TEST_CASE("running heads and page numbers are left out")
{
    std::vector<Page> pages;
    std::string expected;
    for (int i = 1; i <= 6; ++i) {
        Page page(std::to_string(i));
        page.at("The Salt Road " + std::to_string(10 + i), left, 20)
            .line(full + " " + std::string(1, static_cast<char>('a' + i)) + ".");
        page.at(std::to_string(i), 200, 580);
        pages.push_back(page);
        expected +=
            (i == 1 ? "<" : "\n\n<") + std::to_string(i) + ">" + full + " " + static_cast<char>('a' + i) + ".";
    }
    CHECK(laid_out(pages) == expected);
    // The number of a page at its foot is known without other pages.
    const auto foot = [](const std::string& number) {
        return laid_out({Page("1").line(full).line("end.").at(number, 200, 580)});
    };
    CHECK(foot("1") == "<1>" + full + " end.");
    CHECK(foot("7") == "<1>" + full + " end.\n\n7");
    // A chapter's title is its heading where the chapter begins, and the head of its other pages.
    std::vector<Page> chapter;
    for (int i = 1; i <= 4; ++i)
        chapter.push_back(Page(std::to_string(i))
                              .at("The Harbour", left, 30)
                              .line("words " + std::string(1, static_cast<char>('a' + i)) + "."));
    chapter[0].section(1, "The Harbour");
    CHECK(laid_out(chapter) ==
          "<1>{1 The Harbour}The Harbour\n\nwords b.\n\n<2>words c.\n\n<3>words d.\n\n<4>words e.");
    // Rows of numbers are no running heads, nor is a number that does not count the pages.
    std::vector<Page> rows;
    for (int i = 1; i <= 4; ++i)
        rows.push_back(Page(std::to_string(i))
                           .at("12 34 5" + std::to_string(i), left, 30)
                           .at(std::to_string(7 * i), left, 45)
                           .line("end."));
    CHECK_THAT(laid_out(rows), Catch::Contains("12 34 53") && Catch::Contains("21"));
    // What repeats far apart is no running head, such as the number of a chapter.
    std::vector<Page> chapters;
    for (int i = 1; i <= 12; ++i) {
        Page page(std::to_string(i));
        if (i % 4 == 1) page.at("Chapter " + std::to_string(i), left, 40);
        chapters.push_back(page.line("words of page " + std::string(1, static_cast<char>('a' + i)) + "."));
    }
    CHECK_THAT(laid_out(chapters), Catch::Contains("Chapter 1\n") && Catch::Contains("Chapter 9\n"));
}

TEST_CASE("the outline's titles are headings where they stand, or begin sections")
{
    CHECK(
        laid_out({Page("1").section(2, "Frame Layout").line("^2.1 Frame Layout").line("^" + full).line("end.")}) ==
        "<1>{2 2.1 Frame Layout}2.1 Frame Layout\n\n" + full + " end.");
    CHECK(laid_out({Page("1")
                        .section(1, "A title that takes two lines here")
                        .line("A title that takes")
                        .line("two lines here")
                        .line("^text.")}) ==
          "<1>{1 A title that takes two lines here}A title that takes two lines here\n\ntext.");
    CHECK(laid_out({Page("1").section(1, "Elsewhere").line("text.")}) == "{1 Elsewhere}<1>text.");
    CHECK(laid_out({Page("1").line("one."), Page("2").section(1, "Unseen").line("two.")}) ==
          "<1>one.\n\n{1 Unseen}<2>two.");
    CHECK(laid_out({Page("1").section(1, "Big").line("Big"), Page("2").section(2, "Unseen").line("two.")}) ==
          "<1>{1 Big}Big\n\n{2 Unseen}<2>two.");
    CHECK(laid_out({Page("1").line("one."), Page("2").section(1, "Last")}) == "<1>one.\n\n<2>{1 Last}");
    // A line of the text that only ends like a title is none, and a title is one heading.
    CHECK(laid_out({Page("1").section(1, "War").line("#War").line("^the last war").line("War")})
              .starts_with("<1>{1 War}War\n\nthe last war"));
}

TEST_CASE("rows of a table stay apart where their gaps are at the same place")
{
    const std::string row = "larch, and then ash, and 590 planks of"; // 38 letters: 50 to 278
    const auto rows = [&](double from, double to) {
        return laid_out({Page("1").line(full).line(row).gap(100, 130).line(row).gap(from, to).gap(200, 230)});
    };
    CHECK(rows(110, 140) == "<1>" + full + " " + row + "\n" + row);
    CHECK(rows(140, 170) == "<1>" + full + " " + row + " " + row);
}

TEST_CASE("of the dots that lead to a page's number, three are left")
{
    const std::string dots(60, '.');
    std::string apart;
    for (int i = 0; i < 30; ++i)
        apart += ". ";
    CHECK(laid_out({Page("1").line("1.1. Purpose " + dots + " 1").line("1.2. Oaks" + dots + "xii"),
                    Page("2").line("2. Larch " + apart + "203")}) ==
          "<1>1.1. Purpose ... 1\n1.2. Oaks ... xii\n\n<2>2. Larch ... 203");
    CHECK(laid_out({Page("1").line(full).line("Oaks " + dots + " 1").line(full), Page("2").line(full + ".")}) ==
          "<1>" + full + "\nOaks ... 1\n" + full + "\n<2>" + full + ".");
    for (const std::string& text :
         std::vector<std::string>{"Version 3.10.1", "and so on ... 5", "12", "Name " + dots, dots})
        CHECK(laid_out({Page("1").line(text)}) == "<1>" + text);
}

TEST_CASE("a line written from right to left ends on the left")
{
    // Hebrew, Arabic as it is joined in old PDFs, and a line that begins with a Latin name.
    const std::string word = GENERATE("שלום", "\uFEB3\uFEFC\uFEE1\uFEE1", "Ada שלום"), hebrew = word;
    const auto two_lines = [&](double first) {
        Page page("1");
        page.line(full).line(full + ".");
        page.at(hebrew + ".", first, 136).at(hebrew + " " + hebrew + ".", left + 100, 148);
        PdfPage lines = page.get();
        lines.lines[2].right = lines.lines[3].right = left + letter_width * 37;
        return written([&](TextWriter& writer) {
            const LetterSizes sizes;
            PdfLayout layout(true, sizes, writer);
            layout.write(lines);
            layout.finish();
        });
    };
    const std::string begin = "<1>" + full + " " + full + ".\n\n" + hebrew + ".";
    CHECK(two_lines(left + 150) == begin + "\n\n" + hebrew + " " + hebrew + ".");
    CHECK(two_lines(left) == begin + " " + hebrew + " " + hebrew + ".");
}

TEST_CASE("words that were divided are joined")
{
    std::vector<PdfPage> pages{Page("1").line(full).line("exam").line("ple.").get()};
    pages[0].lines[1].is_divided = true;
    const auto text = [&] {
        return written([&](TextWriter& writer) {
            const LetterSizes sizes;
            PdfLayout layout(true, sizes, writer);
            for (const PdfPage& page : pages)
                layout.write(page);
            layout.finish();
        });
    };
    CHECK(text() == "<1>" + full + " example.");
    pages[0].lines[1].text = "AMC", pages[0].lines[2].text = "TXT.";
    CHECK(text() == "<1>" + full + " AMC-TXT.");
    pages = {Page("1").line(full).line(full.substr(0, 30) + " exam-").get(), Page("2").line("ple.").get()};
    CHECK(text() == "<1>" + full + " " + full.substr(0, 30) + " exam<2>ple.");
}

TEST_CASE("lines whose place is not known are joined by their words")
{
    PdfPage page{.number = 0, .label = "1", .width = width, .height = height, .lines = {}, .sections = {}};
    for (const char* line : {"a line that is as long as every line", "and the next one that is as long too",
                             "its end.", "another line that is as long as many"})
        page.lines.push_back({.text = line});
    CHECK(written([&](TextWriter& writer) {
              const LetterSizes sizes;
              PdfLayout layout(true, sizes, writer);
              layout.write(page);
              layout.finish();
          }) == "<1>a line that is as long as every line and the next one that is as long too its end.\n\nanother "
                "line that "
                "is as long as many");
}

TEST_CASE("headings have the same levels on all pages")
{
    const auto chapter = [](const std::string& label, const std::string& title, double size) {
        Page page(label);
        page.at(title, left, 60, size);
        for (int i = 0; i < 8; ++i)
            page.line(full);
        return page.line("end.");
    };
    CHECK_THAT(laid_out({chapter("1", "One", 16), chapter("2", "Two", 13), chapter("3", "Three", 16)}, false),
               Catch::Contains("<1>{1 One}") && Catch::Contains("<2>{2 Two}") && Catch::Contains("<3>{1 Three}"));
    CHECK_THAT(laid_out({chapter("1", "One", 13)}, false), Catch::Contains("{1 One}"));
}

TEST_CASE("without an outline, large letters are headings")
{
    const Page page = Page("1").line("#Large").line("^" + full).line(full).line("end.");
    CHECK(laid_out({page}, false) == "<1>{1 Large}Large\n\n" + full + " " + full + " end.");
    CHECK(laid_out({page}, true) == "<1>Large\n\n" + full + " " + full + " end.");
}

} // namespace palimpsest::tests
