// Passages of stored documents: indexed with the text, found by words, removed with the document.

#include <fstream>
#include <numeric>

#include "storage/backup.h"
#include "storage/backup_files.h"
#include "storage/conversations.h"
#include "storage/document_import.h"
#include "storage/library.h"
#include "storage/passage_index.h"
#include "storage/passages/passage_search.h"
#include "storage/passages/word_query.h"
#include "tests/support/catch.h"
#include "tests/support/project_folders.h"
#include "tests/unit/storage/scratch_database.h"

using namespace palimpsest;
using namespace palimpsest::storage;
using palimpsest::tests::refusal;
using palimpsest::tests::ScratchDatabase;
namespace fs = std::filesystem;

namespace {

std::string filler(int words, const std::string& word)
{
    std::string text;
    for (int i = 0; i < words; ++i)
        text += word + (i + 1 < words ? " " : ".\n\n");
    return text;
}

// A token per word, with the white space before it.
int64_t import_text(Database& database, const std::string& title, const std::string& text,
                    const std::vector<Section>& sections = {})
{
    Import import(database, title, "-", "model");
    std::vector<engine::EncodedToken> tokens;
    for (uint64_t i = 1; i < text.size(); ++i)
        if (text[i] == ' ' || (text[i] == '\n' && text[i - 1] != '\n')) tokens.push_back({.id = 1, .end = i});
    tokens.push_back({.id = 1, .end = text.size()});
    import.add_text(text);
    import.add_tokens(tokens);
    for (const Section& section : sections)
        import.add_section(section);
    return import.finish({});
}

// Three chapters, of which the second names the keeper and, in the paragraph behind, his salary.
struct Chronicle {
    std::string text = "Arrival\n\n" + filler(150, "sea");
    std::vector<Section> sections{{"Arrival", 0, 0}};
    Chronicle()
    {
        begin("The Lamp");
        text += filler(120, "oil") + "Elias Verrin trimmed the wick of the lantern every evening. " +
                filler(80, "glass");
        text += "He was given forty pounds a year. " + filler(90, "money");
        begin("Departure");
        text += filler(130, "ship") + "Verrin and Elias left. " + filler(90, "sail");
    }
    int64_t store(Database& database) const { return import_text(database, "Chronicle", text, sections); }

private:
    void begin(const std::string& title)
    {
        sections.push_back({title, 0, text.size()});
        text += title + "\n\n";
    }
};

std::vector<PassageHit> find(Database& database, const std::string& question, const std::vector<int64_t>& documents)
{
    return search_passages(database, {question}, documents);
}

std::string best_text(Database& database, const std::string& question, int64_t document)
{
    const auto hits = find(database, question, {document});
    return hits.empty() ? "" : PassageIndex(database).text(hits.front().passage);
}

int count(Database& database, const char* table)
{
    return database.sql().execAndGet(std::string("SELECT count(*) FROM ") + table).getInt();
}

bool file_contains(const fs::path& file, const std::string& word)
{
    std::ifstream in(file, std::ios::binary);
    const std::string bytes(std::istreambuf_iterator<char>(in), {});
    return bytes.find(word) != std::string::npos;
}

} // namespace

TEST_CASE("a question without spaces finds the passage that has most of it")
{
    ScratchDatabase scratch;
    const std::string
        keeper = "\u706F\u5854\u7684\u770B\u5B88\u4EBA\u662F\u9648\u5148\u751F\u3002",
        lantern = "\u0E42\u0E04\u0E21\u0E44\u0E1F\u0E2D\u0E22\u0E39\u0E48\u0E17\u0E35\u0E48\u0E19\u0E35\u0E48";
    const std::string text = filler(150, "\u5927\u6D77") + keeper + "\n\n" + filler(150, "\u5C0F\u8239") + lantern +
                             "\n\n" + filler(150, "\u4EBA");
    const int64_t document = import_text(*scratch, "Chinese", text);
    CHECK(best_text(*scratch, "\u8C01\u662F\u706F\u5854\u7684\u770B\u5B88\u4EBA\uFF1F", document).find(keeper) !=
          std::string::npos);
    CHECK(best_text(*scratch, "\u0E42\u0E04\u0E21\u0E44\u0E1F", document).find(lantern) != std::string::npos);
    std::string long_question = "\u706F\u5854\u7684\u770B\u5B88\u4EBA"; // longer than any word of the index
    for (int i = 0; i < 30; ++i)
        long_question += "\u4E48";
    CHECK(best_text(*scratch, long_question, document).find(keeper) != std::string::npos);
    CHECK(best_text(*scratch, "\u5854", document).find(keeper) != std::string::npos);
    CHECK(find(*scratch, "\u98DE\u673A", {document}).empty());
}

TEST_CASE("an imported document has passages that cover it")
{
    ScratchDatabase scratch;
    const Chronicle chronicle;
    const int64_t document = chronicle.store(*scratch);
    PassageIndex index(*scratch);
    CHECK(index.is_complete(document));
    CHECK(index.missing().empty());
    const auto all = index.all(document);
    REQUIRE(all.size() > 5);
    std::string text;
    for (size_t i = 0; i < all.size(); ++i) {
        CHECK(all[i].index == static_cast<int64_t>(i));
        CHECK(all[i].first_token == (i == 0 ? 0 : all[i - 1].end_token));
        text += index.text(all[i]);
    }
    CHECK(text == chronicle.text);
    CHECK(all.back().end_token == Library(*scratch).get(document).tokens);
    CHECK(all.front().section == 0);
    CHECK(all.back().section == 2);
    CHECK(count(*scratch, "passage_texts") == static_cast<int>(all.size()));
    CHECK_FALSE(index.get(document, std::ssize(all)).has_value());
}

TEST_CASE("a passage is found by the stems of its words, names in one piece, headings and neighbours")
{
    ScratchDatabase scratch;
    const int64_t document = Chronicle().store(*scratch);
    CHECK(best_text(*scratch, "Who was trimming wicks?", document).find("trimmed the wick") != std::string::npos);
    CHECK(best_text(*scratch, "What did Elias Verrin do?", document).find("Elias Verrin") != std::string::npos);
    // The paragraph behind the one with the name has the salary, and none of the words of the question.
    const auto hits = find(*scratch, "What did the lantern man earn?", {document});
    REQUIRE(hits.size() == 3); // and the paragraph before it
    CHECK(std::any_of(hits.begin() + 1, hits.end(), [&](const PassageHit& hit) {
        return PassageIndex(*scratch).text(hit.passage).find("forty pounds") != std::string::npos;
    }));
    CHECK(hits[1].score < hits[0].score);
}

TEST_CASE("a follow-up finds what the question before it names, and another question hardly does")
{
    ScratchDatabase scratch;
    const int64_t document =
        import_text(*scratch, "Two keepers",
                    "Elias Verrin came to the lighthouse as a boy. His brother built boats. " + filler(90, "sea") +
                        "Tobias Marsh came to the mill as a man. His brother sold flour. " + filler(90, "oil"));
    const auto best = [&](const Question& question) {
        const auto hits = search_passages(*scratch, question, std::vector{document});
        return hits.empty() ? "" : PassageIndex(*scratch).text(hits[0].passage);
    };
    for (const std::string name : {"Elias Verrin", "Tobias Marsh"}) {
        const std::string before = "Who was " + name + "?";
        CHECK(best({"And his brother?", before}).find(name) != std::string::npos);
        CHECK(best({"What did he do?", before}).find(name) != std::string::npos);
        CHECK(best({"What did the brother of Elias Verrin do?", before}).find("Elias Verrin") != std::string::npos);
        CHECK(best({"Who came to the mill?", before}).find("Tobias Marsh") != std::string::npos);
    }
    CHECK(search_passages(*scratch, {"What did he do?"}, std::vector{document}).empty());
    CHECK(Question{"And his brother?"}.weight_of_before() == 0);
    const double referred = Question{"What did he do?", "Who was Elias?"}.weight_of_before(),
                 named = Question{"What did Tobias give to his brother?", "Who was Elias?"}.weight_of_before();
    CHECK(referred > named);
    CHECK(Question{"Und Tobias?", "Wer war Elias?"}.weight_of_before() == referred);
}

TEST_CASE("the title of a section is found in all of its passages")
{
    ScratchDatabase scratch;
    const std::string first = filler(200, "ice"), second = filler(100, "snow") + filler(100, "rain");
    const int64_t document = import_text(*scratch, "Titled", first + second, {{"Walrus", 0, first.size()}});
    const auto hits = find(*scratch, "walrus", {document});
    REQUIRE(hits.size() == 3);
    CHECK(hits[0].passage.section == 0);
    CHECK(hits[1].passage.section == 0);
    CHECK(hits[2].passage.section == -1); // the neighbour
}

TEST_CASE("only the passages of the named documents are found")
{
    ScratchDatabase scratch;
    const int64_t first = import_text(*scratch, "One", "A walrus sang.\n\n" + filler(200, "ice"));
    const int64_t second = import_text(*scratch, "Two", "The walrus slept.\n\n" + filler(200, "snow"));
    CHECK(find(*scratch, "walrus", {}).empty());
    const auto hits = find(*scratch, "walrus", {second});
    REQUIRE(!hits.empty());
    for (const PassageHit& hit : hits)
        CHECK(hit.passage.document == second);
    CHECK(find(*scratch, "walrus", {first, second}).size() >= 2);
    CHECK(find(*scratch, "elephant", {first, second}).empty());
}

TEST_CASE("the best passages that fit are chosen, in the order of the document")
{
    ScratchDatabase scratch;
    std::string text;
    for (int i = 0; i < 20; ++i)
        text += "walrus " + filler(100 + i, "ice");
    const int64_t document = import_text(*scratch, "Many", text);
    const auto hits = find(*scratch, "walrus", {document});
    const auto chosen = choose_passages(hits, 350);
    REQUIRE(chosen.size() == 3);
    uint64_t tokens = 0;
    for (size_t i = 0; i < chosen.size(); ++i) {
        tokens += chosen[i].passage.tokens();
        if (i > 0) CHECK(chosen[i].passage.index > chosen[i - 1].passage.index);
    }
    CHECK(tokens <= 350);
    CHECK(choose_passages(hits, 10).empty());
}

TEST_CASE("nothing in a question is an operator of the search, and its length is bounded")
{
    ScratchDatabase scratch;
    const int64_t document =
        import_text(*scratch, "Hostile", "NEAR( \"quoted\" AND NOT text:x* ^y {a b}: -col\n\n" + filler(100, "OR"));
    std::string ors = "quoted";
    for (int i = 0; i < 10000; ++i)
        ors += " OR word" + std::to_string(i);
    for (const std::string& question :
         {std::string("NEAR(\"quoted\""), std::string("\"\"\" quoted"), std::string("quoted) OR (*"),
          std::string("heading:quoted"), std::string("quoted\0quoted", 13), std::string("\x01\x02 quoted \x7f"),
          std::string("\xff\xfe quoted"), ors, "quoted " + std::string(1 << 20, 'x')}) {
        INFO(question.substr(0, 40));
        CHECK(word_query(question).words.size() <= WordQuery::max_words);
        CHECK_FALSE(find(*scratch, question, {document}).empty());
    }
    for (const std::string& question :
         {std::string(), std::string("?!"), std::string("who was it"), std::string(5, '"')})
        CHECK(find(*scratch, question, {document}).empty());
}

TEST_CASE("a question's content words and names are what is searched")
{
    const WordQuery query =
        word_query("When did Captain Mary Jane's ship, the Grey Gull, leave Saint-Malo for the ship?");
    CHECK(query.words ==
          std::vector<std::string>{"captain", "mary", "jane", "ship", "grey", "gull", "leave", "saint", "malo"});
    CHECK(query.names == std::vector<std::string>{"captain mary jane", "grey gull"});
    CHECK(word_query("\u00C9tienne \"Grand\"").expression() == "\"\u00C9tienne\" OR \"grand\"");
    CHECK(word_query("the baker\u2019s \u201CWho\u201D, didn\u2019t one\u2014two\u00A0\u00ABthree\u00BB\u3002four")
              .words == std::vector<std::string>{"baker", "one", "two", "three", "four"});
    CHECK(word_query(std::string(65, 'x')).words.empty());
}

TEST_CASE("a removed document leaves no word of it in the database file")
{
    ScratchDatabase scratch;
    const int64_t kept = import_text(*scratch, "Kept", "A walrus sang.\n\n" + filler(100, "ice"));
    const int64_t document = import_text(*scratch, "Secret", "xylophonist " + filler(100, "zephyrine"));
    Conversations conversations(*scratch);
    const int64_t session = conversations.create({.name = "one"}), other = conversations.create({.name = "two"});
    conversations.append(session, StreamDocument{.id = document});
    conversations.append(other, StreamDocument{.id = kept});
    CHECK(find(*scratch, "xylophonist", {document}).size() >= 1);
    CHECK_FALSE(conversations.remove(session).has_value());
    CHECK(find(*scratch, "xylophonist", {document}).empty());
    CHECK(find(*scratch, "walrus", {kept}).size() >= 1);
    CHECK(count(*scratch, "passage_texts") == count(*scratch, "passages"));
    scratch.close();
    CHECK_FALSE(file_contains(scratch.file(), "xylophonist"));
    CHECK_FALSE(file_contains(scratch.file(), "zephyrin")); // its stem, as the index has it
    CHECK(file_contains(scratch.file(), "walrus"));
}

TEST_CASE("a document that was not imported to its end leaves no passages")
{
    ScratchDatabase scratch;
    const int64_t kept = import_text(*scratch, "Kept", "A walrus sang.\n\n" + filler(100, "ice"));
    Conversations conversations(*scratch);
    conversations.append(conversations.create({.name = "one"}), StreamDocument{.id = kept});
    const int passages = count(*scratch, "passages");
    {
        Import stopped(*scratch, "Stopped", "-", "model");
        const std::string text = filler(1000, "walrus");
        stopped.add_text(text);
        std::vector<engine::EncodedToken> tokens;
        for (uint64_t end = 7; end <= text.size(); end += 7)
            tokens.push_back({.id = 1, .end = std::min<uint64_t>(end, text.size())});
        stopped.add_tokens(tokens);
        CHECK_FALSE(stopped.finish({}, [] { return false; }).has_value());
    }
    CHECK(count(*scratch, "documents") == 1);
    // As if the process had been killed between the passages and the end of the import.
    const int64_t killed = import_text(*scratch, "Killed", filler(100, "walrus"));
    scratch->sql().exec("UPDATE documents SET complete = 0 WHERE id = " + std::to_string(killed));
    Library(*scratch).sweep();
    CHECK(count(*scratch, "documents") == 1);
    CHECK(count(*scratch, "passages") == passages);
    CHECK(count(*scratch, "passage_texts") == passages);
    CHECK(count(*scratch, "indexed_documents") == 1);
    CHECK(find(*scratch, "walrus", {kept}).size() == 1);
}

TEST_CASE("passages of a document that is not indexed completely are not found")
{
    ScratchDatabase scratch;
    const int64_t document = import_text(*scratch, "Book", "A walrus sang.\n\n" + filler(100, "ice"));
    scratch->sql().exec("DELETE FROM indexed_documents");
    CHECK(find(*scratch, "walrus", {document}).empty());
}

TEST_CASE("a damaged index keeps no document from being deleted for good, and is made anew")
{
    const std::string damaged = GENERATE("id = 10", "id > 10", "1"); // its structure, the rest, everything
    INFO(damaged);
    ScratchDatabase scratch;
    const int64_t kept = import_text(*scratch, "Kept", "A walrus sang.\n\n" + filler(100, "ice"));
    const int64_t document = import_text(*scratch, "Secret", filler(100, "zephyrine"));
    Conversations conversations(*scratch);
    const int64_t session = conversations.create({.name = "one"}), other = conversations.create({.name = "two"});
    conversations.append(session, StreamDocument{.id = document});
    conversations.append(other, StreamDocument{.id = kept});
    scratch.close();
    {
        SQLite::Database raw(scratch.file().string(), SQLite::OPEN_READWRITE);
        raw.exec("UPDATE passage_texts_data SET block = x'ffffffffffffffffffff' WHERE " + damaged);
    }
    scratch.open();
    CHECK_FALSE(Conversations(*scratch).remove(session).has_value());
    PassageIndex index(*scratch);
    CHECK(index.missing() == std::vector<int64_t>{kept});
    CHECK(index.build(kept));
    CHECK(find(*scratch, "walrus", {kept}).size() == 1);
    scratch.close();
    CHECK_FALSE(file_contains(scratch.file(), "zephyrin"));
}

TEST_CASE("a document whose stored tokens are incomplete is not indexed")
{
    ScratchDatabase scratch;
    const int64_t document = import_text(*scratch, "Book", filler(100, "ice"));
    scratch->sql().exec("UPDATE documents SET tokens = tokens + 1");
    CHECK(refusal([&] { PassageIndex(*scratch).build(document); }) == "PAL-DOC-05");
    CHECK(PassageIndex(*scratch).missing() == std::vector<int64_t>{document});
}

TEST_CASE("a document without passages is indexed later, completely or not at all")
{
    ScratchDatabase scratch;
    const int64_t document = import_text(*scratch, "Long", [] {
        std::string text;
        for (int i = 0; i < 700; ++i)
            text += filler(85, i == 650 ? "walrus" : "ice");
        return text;
    }());
    PassageIndex index(*scratch);
    const auto before = index.all(document);
    REQUIRE(before.size() == 700);
    std::vector<uint64_t> steps;
    CHECK_FALSE(index.build(document, [&](uint64_t bytes) {
        steps.push_back(bytes);
        return false;
    }));
    CHECK(steps == std::vector<uint64_t>{before[511].end_byte});
    CHECK(index.all(document).empty());
    CHECK(count(*scratch, "passage_texts") == 0);
    CHECK(index.missing() == std::vector<int64_t>{document});
    CHECK(find(*scratch, "walrus", {document}).empty());
    CHECK(index.build(document));
    CHECK(index.missing().empty());
    CHECK(find(*scratch, "walrus", {document}).size() >= 1);
    const auto after = index.all(document);
    REQUIRE(after.size() == before.size());
    for (size_t i = 0; i < after.size(); ++i)
        CHECK(after[i].end_byte == before[i].end_byte);
}

TEST_CASE("the daily backup leaves out passages, and a restored one is indexed again")
{
    ScratchDatabase scratch;
    const int64_t document = import_text(*scratch, "Book", "A walrus sang.\n\n" + filler(100, "ice"));
    back_up_daily(scratch->sql(), scratch.file(), std::chrono::sys_days(std::chrono::days(20000)));
    fs::path copy;
    for (const fs::directory_entry& entry : fs::directory_iterator(backup_folder(scratch.file())))
        copy = entry.path();
    Database restored(copy, Database::Access::Write);
    PassageIndex index(restored);
    CHECK(index.missing() == std::vector<int64_t>{document});
    CHECK(find(restored, "walrus", {document}).empty());
    CHECK(index.build(document));
    CHECK(find(restored, "walrus", {document}).size() == 1);
}

TEST_CASE("the documents of an older database have no passages until it is migrated")
{
    ScratchDatabase scratch;
    scratch.clear();
    fs::copy_file(tests::source_file("tests/fixtures/databases/schema-1.db"), scratch.file());
    fs::permissions(scratch.file(), fs::perms::owner_read | fs::perms::owner_write);
    {
        Database reader(scratch.file(), Database::Access::Read);
        const int64_t document = Library(reader).list().at(0).id;
        CHECK(PassageIndex(reader).missing() == std::vector<int64_t>{document});
        CHECK(PassageIndex(reader).all(document).empty());
        CHECK(find(reader, "the", {document}).empty());
        CHECK(find(reader, "keeper", {document}).empty());
    }
    scratch.open();
    PassageIndex index(*scratch);
    const int64_t document = index.missing().at(0);
    CHECK(index.build(document));
    const auto all = index.all(document);
    CHECK(std::accumulate(all.begin(), all.end(), uint64_t{0}, [](uint64_t sum, const StoredPassage& passage) {
              return sum + passage.tokens();
          }) == 1442);
}
