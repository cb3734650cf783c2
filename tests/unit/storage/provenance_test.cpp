// Where answers come from is kept with them: by copies, branches and exports, until they are taken back.
#include "storage/provenance.h"

#include "storage/session/answer_provenance.h"
#include "storage/transfer.h"
#include "tests/unit/storage/book_session.h"

using namespace palimpsest;
using namespace palimpsest::storage;
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
        for (auto& [answer, provenance] : all().of(id(name)))
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
    book.all().put(book.answers[1], replaced);
    REQUIRE(book.of("book").at(1).quote);
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

TEST_CASE("a provenance that is damaged or names tokens beyond the stream is left out")
{
    AnsweredBook book;
    Provenance beyond = book.second;
    for (const StreamRange range : {StreamRange{3, 100000}, {9, 3}, {UINT64_MAX, UINT64_MAX}}) {
        beyond.sources = {{.range = range}};
        book.all().put(book.answers[1], beyond);
        CHECK(book.of("book") == std::vector<Provenance>{book.first});
    }
    beyond.sources.clear();
    beyond.quote = QuotedSentence{.range = {0, 100000}};
    book.all().put(book.answers[1], beyond);
    CHECK(book.of("book") == std::vector<Provenance>{book.first});
    book.store().database.sql().exec("UPDATE provenance SET data = replace(data, '30', '31')");
    CHECK(book.of("book").empty());
}
