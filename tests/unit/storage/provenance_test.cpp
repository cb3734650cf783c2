// Where answers come from is kept with them: by copies, branches and exports, until they are taken back.
#include "storage/provenance.h"

#include <span>

#include "storage/hash.h"
#include "storage/session/answer_provenance.h"
#include "storage/session/session_verification.h"
#include "storage/transfer.h"
#include "tests/support/fixtures/refused.h"
#include "tests/unit/storage/book_session.h"

using namespace palimpsest;
using namespace palimpsest::storage;
using palimpsest::test::refused;
using palimpsest::tests::BookSession;
using palimpsest::tests::say;

namespace {

// A book and two answers about it, with what is known of them.
struct AnsweredBook : BookSession {
    AnsweredBook()
    {
        StoredSession& session = with_book();
        for (const char* question : {"Who kept the light?", "And when?"}) {
            say(session, question);
            answers.push_back(last_turn(session)->answer.id);
        }
        all().put(answers[0], first);
        all().put(answers[1], second);
    }
    Provenances all() { return Provenances(store().database); }
    int64_t id(const std::string& name = "book") { return store().conversations.get(name).id; }
    // Those of a session, in the order of its messages.
    std::vector<Provenance> of(const std::string& name)
    {
        std::vector<Provenance> ordered;
        const uint64_t tokens = tokens_of(store().conversations.stream(id(name)));
        for (auto& [answer, provenance] : all().of(id(name), tokens))
            ordered.push_back(std::move(provenance));
        return ordered;
    }

    std::vector<int64_t> answers;
    const Provenance first{.tokens_in_input = 40,
                           .tokens_read = 30,
                           .budget = 24,
                           .sources = {{.range = {3, 9}, .weight = 0.75, .held = 0.5, .read_again = true},
                                       {.range = {12, 12}, .weight = 0.1, .held = 1.0 / 3}},
                           .is_from_sources_alone = true,
                           .quote = QuotedSentence{.text = "The \"light\" was kept.\n",
                                                   .place = "CHAPTER I",
                                                   .range = {3, 9},
                                                   .unsupported = {"Tobias", "1,702"}}};
    const Provenance second{.tokens_in_input = 40, .tokens_read = 40, .budget = 24};
};

} // namespace

TEST_CASE("where an answer comes from is the same when it is read from the database")
{
    AnsweredBook book;
    CHECK(book.of("book") == std::vector<Provenance>{book.first, book.second});
    Provenance replaced = book.second;
    replaced.quote = QuotedSentence{.text = "cut \xE2\x82", .place = "", .range = {0, 1}};
    replaced.quote->pages = {"xii", "xiv"};
    book.all().put(book.answers[1], replaced);
    REQUIRE(book.of("book").at(1).quote);
    CHECK(book.of("book")[1].quote->pages == PageRange{"xii", "xiv"});
    CHECK(book.of("book")[1].quote->text == "cut \xEF\xBF\xBD"); // what is no UTF-8 is replaced
}

TEST_CASE("copies, branches and exported sessions keep where their answers come from")
{
    AnsweredBook book;
    const std::vector<Provenance> both{book.first, book.second};
    book.store().conversations.fork(book.id(), "copy");
    CHECK(book.of("copy") == both);
    const auto second_question = book.messages().at(2).id;
    book.store().conversations.fork_before(book.id(), "branch", second_question);
    CHECK(book.of("branch") == std::vector<Provenance>{book.first});

    const auto file = book.folder() / "exported.db";
    export_session(book.store().database, book.id(), file);
    import_session(book.store().database, file, "imported");
    CHECK(book.of("imported") == both);
}

TEST_CASE("an answer that is taken back takes its provenance with it")
{
    AnsweredBook book;
    book.open("book", tests::options()).undo();
    CHECK(book.of("book") == std::vector<Provenance>{book.first});
    CHECK(book.store().database.sql().execAndGet("SELECT count(*) FROM provenance").getInt() == 1);
}

TEST_CASE("a provenance that does not match its checksum is left out")
{
    AnsweredBook book;
    CHECK(verified_session(book.store(), "book").document_tokens > 0);
    book.store().database.sql().exec("UPDATE provenance SET data = replace(data, '30', '31')");
    CHECK(book.of("book") == std::vector<Provenance>{book.second});
    CHECK(refused([&] { verified_session(book.store(), "book"); }).says("sources are damaged: 1"));
}

TEST_CASE("a table that cannot be read is the database's error")
{
    for (const char* table : {"notes", "provenance"}) {
        AnsweredBook book;
        book.store().database.sql().exec(std::string("DROP TABLE ") + table);
        INFO(table);
        CHECK(refused([&] { verified_session(book.store(), "book"); }).code.starts_with("PAL-D"));
    }
}

TEST_CASE("a provenance of an imported session that is impossible is left out")
{
    AnsweredBook book;
    SQLite::Database& sql = book.store().database.sql();
    const std::string genuine = sql.execAndGet("SELECT data FROM provenance ORDER BY message LIMIT 1").getString();
    const auto left_with = [&](const std::string& data) {
        SQLite::Statement update(sql, "UPDATE provenance SET data = ?, hash = ? WHERE message = ?");
        update.bind(1, data);
        update.bind(2, hash64(std::as_bytes(std::span(data))));
        update.bind(3, book.answers[0]);
        update.exec();
        return book.of("book").size();
    };
    const auto changed = [&](const std::string& from, const std::string& to) {
        std::string data = genuine;
        REQUIRE(data.find(from) != std::string::npos);
        return data.replace(data.find(from), from.size(), to);
    };
    CHECK(left_with(genuine) == 2);
    std::string many = "[";
    for (int i = 0; i < 257; ++i)
        many += R"({"held":0,"read_again":false,"tokens":[3,9],"weight":0},)";
    many.back() = ']';
    for (const auto& [from, to] : {std::pair<std::string, std::string>{"[3,9]", "[3,100000]"},
                                   {"[3,9]", "[9,3]"},
                                   {"[3,9]", "[-1,9]"},
                                   {"[3,9]", "[3,1e300]"},
                                   {"[3,9]", "[3]"},
                                   {"[12,12]", "[18446744073709551615,18446744073709551615]"},
                                   {"[12,12]", "[18446744073709551616,18446744073709551616]"},
                                   {"\"budget\":24", "\"budget\":-24"},
                                   {"\"budget\":24", "\"budget\":1e300"},
                                   {"\"tokens_read\":30", "\"tokens_read\":41"},
                                   {"\"tokens_read\":30", "\"tokens_read\":null"},
                                   {"0.75", "7.5"},
                                   {"0.75", "-0.75"},
                                   {"0.75", "\"much\""},
                                   {"\"sources\":[", "\"sources\":" + many + ",\"other\":["},
                                   {"CHAPTER I", std::string(1 << 18, 'I')},
                                   {"\"unsupported\":[", "\"unsupported\":[7,"},
                                   {"}", "]"}}) {
        INFO(to.substr(0, 80));
        CHECK(left_with(changed(from, to)) == 1);
        CHECK(refused([&] { verified_session(book.store(), "book"); }).says("sources are damaged: 1"));
    }
    CHECK(left_with("") == 1);
    CHECK(left_with("[]") == 1);
    CHECK(left_with(std::string(100000, '[')) == 1);
    CHECK(left_with(genuine) == 2);
}
