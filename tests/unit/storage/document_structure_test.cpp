// Sections and pages: where they are, and how they are stored and copied.
#include "storage/document_structure.h"

#include "storage/conversations.h"
#include "storage/document_import.h"
#include "storage/library.h"
#include "storage/page_range.h"
#include "storage/passages/passage_places.h"
#include "storage/reader/frame.h"
#include "storage/reader/note_messages.h"
#include "storage/section_tree.h"
#include "storage/session/stored_notes.h"
#include "storage/transfer.h"
#include "tests/support/catch.h"
#include "tests/unit/storage/scratch_database.h"

using namespace palimpsest;
using namespace palimpsest::storage;

namespace {

std::vector<Section> sections(const std::vector<std::pair<int, std::string>>& all)
{
    std::vector<Section> out;
    for (const auto& [level, title] : all)
        out.push_back({.title = title, .level = level});
    return out;
}

} // namespace

TEST_CASE("a section is within the sections before it that have a lower level")
{
    const SectionTree book(
        sections({{1, "A"}, {2, "A1"}, {3, "A1a"}, {3, "A1b"}, {2, "A2"}, {1, "B"}, {3, "deep"}}));
    const auto path = [&](size_t index) {
        std::vector<std::string> titles;
        for (const Section* section : book.path(index))
            titles.push_back(section->title);
        return titles;
    };
    using Titles = std::vector<std::string>;
    CHECK(path(0) == Titles{"A"});
    CHECK(path(1) == Titles{"A", "A1"});
    CHECK(path(3) == Titles{"A", "A1", "A1b"});
    CHECK(path(4) == Titles{"A", "A2"});
    CHECK(path(5) == Titles{"B"});
    CHECK(path(6) == Titles{"B", "deep"});
    CHECK(SectionTree(sections({{2, "first"}})).path(0).size() == 1);
}

TEST_CASE("the page of a token is the last that begins with it or before it")
{
    const std::vector<Page> pages{{"i", 2, 10}, {"ii", 5, 30}, {"1", 5, 30}, {"2", 9, 50}};
    CHECK(page_of_token(pages, 1) == nullptr);
    CHECK(page_of_token(pages, 2)->label == "i");
    CHECK(page_of_token(pages, 4)->label == "i");
    CHECK(page_of_token(pages, 5)->label == "1");
    CHECK(page_of_token(pages, 99)->label == "2");
    CHECK(page_of_token({}, 5) == nullptr);
}

TEST_CASE("a stretch over several pages has the first and the last of them")
{
    const std::vector<Page> pages{{"i", 2, 10}, {"ii", 5, 30}, {"1", 5, 30}, {"2", 9, 50}};
    CHECK(pages_of(pages, 3, 5) == PageRange{"i", "i"});
    CHECK(pages_of(pages, 3, 6) == PageRange{"i", "1"});
    CHECK(pages_of(pages, 0, 99) == PageRange{"i", "2"});
    CHECK(pages_of(pages, 0, 2).empty());
    CHECK(pages_of({}, 0, 9).empty());
    CHECK(page_words({"12", "12"}).english() == "page 12");
    CHECK(page_words({"12", "14"}).english() == "pages 12–14");
}

TEST_CASE("the section of a token is the last that begins with it or before it")
{
    const SectionTree tree({{.title = "A", .first_token = 2}, {.title = "B", .first_token = 5}});
    CHECK_FALSE(tree.of_token(1));
    CHECK(tree.of_token(2) == 0);
    CHECK(tree.of_token(4) == 0);
    CHECK(tree.of_token(99) == 1);
}

TEST_CASE("notes of a reader are taken from bytes only as a reader writes them")
{
    const std::vector notes{Text("{0} images are left out", 2), Text("only the main text is read")};
    const std::string bytes = encoded_notes(notes);
    CHECK(decoded_notes(bytes) == notes);
    CHECK(decoded_notes({}).empty());
    for (size_t length = 1; length < bytes.size(); ++length)
        CHECK(decoded_notes(bytes.substr(0, length)) != notes);
    CHECK(decoded_notes(bytes + encoded(ReaderText{"text"})).empty());
    CHECK(decoded_notes(encoded(ReaderNote{Text::verbatim("\x1b[2J")})).empty());
    // Too many are cut, not refused.
    const std::vector<Text> many(5000, Text::verbatim(std::string(1000, 'a')));
    const std::vector<Text> read = decoded_notes(encoded_notes(many));
    CHECK(read.size() > 200);
    CHECK(read.size() < many.size());
}

TEST_CASE("structure and metadata of a document are stored, copied with its session, and go away with it")
{
    tests::ScratchDatabase scratch;
    Library library(*scratch);
    Import import(*scratch, "file name", "a.pdf", "model");
    import.add_text("abcdef");
    import.add_tokens(std::vector<engine::EncodedToken>{{.id = 1, .end = 3}, {.id = 2, .end = 6 }});
    import.add_section({.title = "One", .first_token = 1, .first_byte = 2, .level = 3});
    for (const Page& page : {Page{"1", 0, 0}, Page{"2", 1, 3}, Page{"xii", 1, 3}, Page{"4", 2, 6}})
        import.add_page(page);
    const std::vector notes{Text("{0} images are left out", 2),
                            Text("the text was taken for {0}", Text::escaped("a\n"))};
    import.set_reader_notes(encoded_notes(notes));
    const int64_t id = import.finish({.title = "A Title", .format = "PDF", .author = "Ada", .language = "en"});
    CHECK(library.list().at(0).format == "PDF");
    // A token may hold the space before the first word of a page.
    PassagePlaces places(library);
    CHECK(places.pages({.document = id, .first_token = 1, .end_token = 2, .first_byte = 2}) ==
          PageRange{"xii", "xii"});
    CHECK(places.pages({.document = id, .first_token = 0, .end_token = 2, .first_byte = 0}) ==
          PageRange{"1", "xii"});

    Conversations conversations(*scratch);
    const int64_t session = conversations.create({.name = "one"});
    conversations.append(session, StreamDocument{.id = id, .tokens = 2});
    tests::ScratchDatabase other;
    const auto file = other.file().parent_path() / "exported.db";
    export_session(*scratch, session, file);
    import_session(*other, file, "");
    for (Database* database : {&*scratch, &*other}) {
        Library copied(*database);
        const DocumentInfo info = copied.list().at(0);
        CHECK(info.title == "A Title");
        CHECK(info.format == "PDF");
        CHECK(info.author == "Ada");
        CHECK(info.language == "en");
        const auto one = copied.sections(info.id);
        REQUIRE(one.size() == 1);
        CHECK(one[0].title == "One");
        CHECK(one[0].first_token == 1);
        CHECK(one[0].first_byte == 2);
        CHECK(one[0].level == 3);
        const auto pages = copied.pages(info.id);
        REQUIRE(pages.size() == 4);
        CHECK(pages[2].label == "xii");
        CHECK(pages[2].first_token == 1);
        CHECK(pages[2].first_byte == 3);
        CHECK(copied.pages_without_text(info.id) == std::vector<std::string>{"2", "4"});
        CHECK(copied.pages_without_text(info.id + 1).empty());
        CHECK(notes_of_reader(copied, info) == notes);
        CHECK_NOTHROW(copied.verify(info.id));
    }
    // Damaged notes are not shown, and keep nobody from the text; of a document that an earlier version stored, the
    // pages say what they can.
    scratch->sql().exec("UPDATE document_blocks SET hash = hash + 1 WHERE kind = 4");
    CHECK(notes_of_reader(library, library.get(id)).size() == 1);
    CHECK_NOTHROW(library.verify(id));
    tests::ScratchDatabase third;
    const auto exported_again = third.file().parent_path() / "exported-again.db";
    export_session(*scratch, session, exported_again);
    import_session(*third, exported_again, "");
    CHECK(Library(*third).list().at(0).title == "A Title");
    scratch->sql().exec("DELETE FROM document_blocks WHERE kind = 4");
    REQUIRE(notes_of_reader(library, library.get(id)).size() == 1);
    CHECK(notes_of_reader(library, library.get(id))[0].english() ==
          "2 of 4 pages have no text, and may be pictures: 2, 4");
    REQUIRE_FALSE(conversations.remove(session));
    for (const char* table : {"pages", "metadata", "sections"}) {
        INFO(table);
        CHECK(scratch->sql().execAndGet(std::string("SELECT count(*) FROM ") + table).getInt() == 0);
    }
}
