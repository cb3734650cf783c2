// Sections and pages: how they are told, stored and copied.
#include "storage/document_structure.h"

#include "storage/document_import.h"
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
    const auto book = sections({{1, "A"}, {2, "A1"}, {3, "A1a"}, {3, "A1b"}, {2, "A2"}, {1, "B"}, {3, "deep"}});
    std::vector<std::string> names;
    for (size_t i = 0; i < book.size(); ++i)
        names.push_back(section_name(book, i));
    CHECK(names == std::vector<std::string>{"A", "A \u203A A1", "A \u203A A1 \u203A A1a", "A \u203A A1 \u203A A1b",
                                            "A \u203A A2", "B", "B \u203A deep"});
    CHECK(section_name(sections({{2, "first"}}), 0) == "first");
}

TEST_CASE("the page of a place is the last that begins before it")
{
    const std::vector<Page> pages{{"i", 2, 10}, {"ii", 5, 30}, {"1", 5, 30}, {"2", 9, 50}};
    CHECK(page_at(pages, 9) == nullptr);
    CHECK(page_at(pages, 10)->label == "i");
    CHECK(page_at(pages, 29)->label == "i");
    CHECK(page_at(pages, 30)->label == "1");
    CHECK(page_at(pages, 99)->label == "2");
    CHECK(page_of_token(pages, 1) == nullptr);
    CHECK(page_of_token(pages, 8)->label == "1");
    CHECK(page_at({}, 5) == nullptr);
}

TEST_CASE("pages without text are those that end where they begin")
{
    CHECK(pages_without_text({{"1", 0, 0}, {"2", 3, 9}, {"3", 3, 9}, {"4", 7, 20}}, 20) ==
          std::vector<std::string>{"2", "4"});
    CHECK(pages_without_text({{"1", 0, 0}}, 1).empty());
    CHECK(pages_without_text({}, 0).empty());
}

TEST_CASE("structure and metadata of a document are stored, and go away with it")
{
    tests::ScratchDatabase scratch;
    Library library(*scratch);
    Import import(*scratch, "file name", "a.pdf", "model");
    import.add_text("abcdef");
    import.add_section({.title = "One", .first_token = 1, .first_byte = 2, .level = 3});
    import.add_page({.label = "xii", .first_token = 1, .first_byte = 3});
    const int64_t id = import.finish({.title = "A Title", .format = "PDF", .author = "Ada", .language = "en"});
    const DocumentInfo info = library.get(id);
    CHECK(info.title == "A Title");
    CHECK(info.format == "PDF");
    CHECK(info.author == "Ada");
    CHECK(info.language == "en");
    REQUIRE(library.sections(id).size() == 1);
    CHECK(library.sections(id)[0].level == 3);
    REQUIRE(library.pages(id).size() == 1);
    CHECK(library.pages(id)[0].label == "xii");
    CHECK(library.pages(id)[0].first_token == 1);
    CHECK(library.pages(id)[0].first_byte == 3);
    CHECK(library.list().at(0).format == "PDF");
    library.remove(id);
    for (const char* table : {"pages", "metadata", "sections"}) {
        INFO(table);
        CHECK(scratch->sql().execAndGet(std::string("SELECT count(*) FROM ") + table).getInt() == 0);
    }
}
