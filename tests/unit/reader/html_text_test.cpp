#include "app/reader/html_text.h"

#include "tests/support/catch.h"
#include "tests/unit/reader/written.h"

namespace palimpsest::tests {

using namespace palimpsest::reader;

namespace {

std::string page(const std::string& html)
{
    return written([&](TextWriter& writer) { parse_html(html, writer); });
}

std::string part(const std::string& html, const HtmlOptions& options = {})
{
    return written([&](TextWriter& writer) { write_html_text(HtmlTree(html), options, writer); });
}

} // namespace

TEST_CASE("paragraphs, line breaks and white space")
{
    CHECK(part("<p>One\n  two <b>three</b>,four</p><p>a<br>b <br/> c</p>tail <i> x</i>") ==
          "One two three,four\n\na\nb\nc\n\ntail x");
    CHECK(part("<p>10&nbsp;km &amp; &lt;b&gt; &hellip;</p>") == "10\xC2\xA0km & <b> …");
    CHECK(part("<pre>\n a\n   b\n</pre><p>c</p>") == " a\n   b\n\nc");
    CHECK(part("<div>a<div>b</div>c</div>") == "a\n\nb\n\nc");
}

TEST_CASE("what is no text is left out")
{
    CHECK(part("<style>x</style><script>y</script><p>a<span hidden>b</span><span style='display: "
               "none'>c</span></p>") == "a");
    CHECK(part("<p>漢<ruby>字<rp>(</rp><rt>じ</rt><rp>)</rp></ruby></p>") == "漢字(じ)");
}

TEST_CASE("headings begin sections")
{
    CHECK(part("<h1>Part <i>One</i></h1><p>a</p><h3>b</h3>") == "{1 Part One}Part One\n\na\n\n{3 b}b");
    CHECK(part("<h2> </h2><p>a</p>") == "a");
    CHECK(part("<h1>Title<p>one</p><p>two</p></h1>") == "{1 Title}Title\n\none\n\ntwo");
    std::string words;
    for (int i = 0; i < 500; ++i)
        words += "word ";
    CHECK(part("<h2>" + words + "</h2>").ends_with("}" + words.substr(0, words.size() - 1))); // nothing is cut
}

TEST_CASE("lists are nested and numbered")
{
    CHECK(part("<ul><li>a<ol start=3><li>b<li>c</ol><li><p>d</p><p>e</p></ul>f") ==
          "- a\n  3. b\n  4. c\n- d\n  e\n\nf");
    CHECK(part("<ol type=i><li>a</li><li value=9>b</li></ol><ul><li>c</ul>") == "i. a\nix. b\n\n- c");
    CHECK(part("<ol class='loweralpha simple'><li>a</ol><ol style='list-style: upper-roman'><li>b</ol>") ==
          "a. a\n\nI. b");
    CHECK(page("<style>.x{list-style-type:lower-roman}</style><ol class='y x'><li>a</ol>") == "i. a");
    CHECK(part("<li>alone</li><p>b</p>") == "- alone\n\nb");
    CHECK(part("<ol start=2147483647><li>a</ol>") == "1000000. a");
}

TEST_CASE("tables of facts have a row a line, tables that arrange a page do not")
{
    CHECK(part("<p>x<table><tr><th>Ship<th>Tons<tr><td><p>Heron</p><td>120</table>y") ==
          "x\n\nShip | Tons\nHeron | 120\n\ny");
    CHECK(part("<table><tr><td>a<td></tr><tr><td><td></tr></table>") == "a | ");
    CHECK(part("<table><tr><td><h1>T</h1><p>one</p><p>two</p></td><td>side</td></tr></table>") ==
          "{1 T}T\n\none\n\ntwo\n\nside");
}

TEST_CASE("notes do not run into words")
{
    CHECK(
        part("<p>north<a class='footnote-ref'><sup>1</sup></a>.</p><p>The note.<a role='doc-backlink'>↩</a></p>") ==
        "north[1].\n\nThe note.");
    CHECK(part("<p>north<a epub:type='noteref'>[1]</a></p>") == "north[1]");
    CHECK(part("<p>a<sup><a href='#n'>1</a></sup>, b<a href='x#n'><sup>22</sup></a>, c<sup>2</sup>, d<sup>[<a "
               "href='#n'>3</a>]</sup></p>") == "a[1], b[22], c2, d[3]");
    CHECK(part("<p><sup><a href='#r'>1</a></sup>The note.</p><p><a href='#r'>2</a>. Two.</p>") ==
          "1 The note.\n\n2. Two.");
    CHECK(part("<aside role='doc-footnote'><span>[<a role='doc-backlink' href='#r'>1</a>]</span>\n<p>The "
               "note.</p><p>More.</p></aside>") == "[1] The note.\n\nMore.");
}

TEST_CASE("verse keeps its lines")
{
    CHECK(part("<div class=line-block>\n<div class=line>one</div>\n<div class=line-block><div class=line>two</div>"
               "</div><div class=line>three</div></div><div class=line>four</div>") == "one\n  two\nthree\n\nfour");
}

TEST_CASE("a list of links is told from a text")
{
    const std::string links = "<nav><ol><li><a href=a>One</a><li>Two and three</ol></nav><p><a href=b>Four</a></p>";
    CHECK(is_list_of_links(HtmlTree("<title>Title of the file</title><h1>Contents</h1>" + links)));
    CHECK_FALSE(is_list_of_links(HtmlTree("<p>A text that is longer than all of its links are.</p>" + links)));
    CHECK_FALSE(is_list_of_links(HtmlTree("<p>no link</p>")));
}

TEST_CASE("a page gives its main text, title, author and language")
{
    CHECK(page("<html lang=de><head><title>T</title><meta name=author content=A></head><body><nav>menu</nav>"
               "<main><p>text</p></main><footer>f</footer></body></html>")
              .starts_with("[T][A][de]text(only the main text"));
    CHECK(page("<body><nav>menu</nav><article>a</article><aside>b</aside>").starts_with("a("));
    CHECK(page("<body><p>a</p><div id=footer>Last updated</div><div class='x footer'>b</div></body>")
              .starts_with("a("));
    CHECK(page("<body><p>all</p></body>") == "all");
    CHECK(page("<body><nav>only this</nav></body>") == "only this");
    CHECK(page("<article>a</article><article>b</article>") == "a\n\nb");
    CHECK(page("<h1>Report</h1><p>a long text</p><article>one</article>") ==
          "{1 Report}Report\n\na long text\n\none");
    CHECK(page("<!DOCTYPE html><html xmlns='http://www.w3.org/1999/xhtml'><head><title/></head><body><p>a</p>") ==
          "a");
}

TEST_CASE("sections of a table of contents begin where it says, unless a heading is there")
{
    const std::unordered_map<std::string, SectionMark> marks{{"a", {2, "A"}}, {"b", {3, "B"}}};
    HtmlOptions options{.sections = &marks, .first_section = {1, "First"}};
    CHECK(part("<p>x</p><p id=a>y</p><h1 id=b>Big</h1>", options) == "{1 First}x\n\n{2 A}y\n\n{3 Big}Big");
}

TEST_CASE("pages begin in the middle of a paragraph")
{
    CHECK(part("<p>one <span epub:type='pagebreak' title='12'></span>two</p><div role='doc-pagebreak' "
               "aria-label='13'></div><p>three</p>") == "one <12>two\n\n<13>three");
    const std::string mark = "<span epub:type='pagebreak' title='5'></span>";
    CHECK(part("<p><br/>" + mark + "</p><p>Über</p>") == "<5>Über");
    CHECK(part("<p><br/><br/><br/>" + mark + "</p><p>A" + mark + "bc</p>") == "<5>A<5>bc");
    CHECK(part("<table><tr><td>abc" + mark + "<td>d</table><p>Über</p>") == "<5>abc | d\n\nÜber");
}

TEST_CASE("XHTML is read as what it means")
{
    CHECK(page("<?xml version='1.0'?><!DOCTYPE html [<!ENTITY x 'y'>]><html><head><title/></head><body><p/>"
               "<script/><p><![CDATA[a<b]]>&x;</p><!-- <p>no</p> --></body></html>") == "a<b&x;");
    CHECK(xhtml_as_html("<a id='x>y'/><br/>") == "<a id='x>y'></a><br/>");
}

TEST_CASE("any bytes are read or refused")
{
    const std::string html =
        "<html><body><h1 id=a>T</h1><ul><li>a<table><tr><td>b</table></ul><p>c&amp;<pre>d</pre>";
    for (size_t length = 0; length <= html.size(); ++length)
        CHECK_NOTHROW(page(html.substr(0, length)));
    std::string deep;
    for (int i = 0; i < 10'000; ++i)
        deep += "<div>";
    CHECK_THROWS_AS(page(deep + "x"), Problem);
}

} // namespace palimpsest::tests
