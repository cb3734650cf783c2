// Reading again: passages that a question is about, and that the cache holds no longer, are part of its turn, and
// with it of all that is done with the stream. A session that went another way holds the same tokens and logits.
#include <algorithm>

#include "storage/session/session_settings.h"
#include "storage/transfer.h"
#include "tests/unit/storage/book_session.h"

using namespace palimpsest;
using namespace palimpsest::storage;
using palimpsest::tests::BookSession;
using palimpsest::tests::check_same;
using palimpsest::tests::say;
using palimpsest::tests::seeded;
using palimpsest::tests::tokens;

namespace {

std::string years(int first, int count)
{
    std::string text;
    for (int i = 0; i < count; ++i)
        text +=
            "In the year " + std::to_string(first + i) + " the light was kept by the sea, and no one came by.\n\n";
    return text;
}

// Two facts, far from one another and from the end.
std::string two_facts()
{
    return "CHAPTER I\n\n" + years(1700, 40) + "Tobias painted the door of the boathouse green.\n\n" +
           years(1740, 40) + "CHAPTER II\n\n" + years(1800, 40) +
           "Margaret buried her pearls below the sundial.\n\n" + years(1840, 60);
}

constexpr const char *door = "Who painted the door of the boathouse?", *pearls = "Where did she bury the pearls?";

StoredOptions rereading(RereadMode mode, const std::string& budget = "240")
{
    StoredOptions options = tests::options();
    options.choice.budget = budget;
    options.rereading = {.mode = mode, .tokens = 240};
    return options;
}

struct ReadBook : BookSession {
    explicit ReadBook(RereadMode mode = RereadMode::Auto, const std::string& budget = "240")
        : BookSession(two_facts())
    {
        with_book(rereading(mode, budget));
    }
    StoredSession& session() { return open("book", rereading(RereadMode::Auto)); }
};

// The text of the passage that this is a part of.
std::string text_of(Store& store, const ReadAgain& part)
{
    std::string text;
    PassageIndex index(store.database);
    for (const StoredPassage& stored : index.all(part.document))
        if (stored.first_token <= part.first_token && part.end_token <= stored.end_token)
            text += index.text(stored);
    return text;
}

bool contains(const std::vector<engine::TokenId>& ids, const std::vector<engine::TokenId>& part)
{
    return std::search(ids.begin(), ids.end(), part.begin(), part.end()) != ids.end();
}

} // namespace

TEST_CASE("a question reads the passages that it is about again, with their places, before it")
{
    ReadBook tested;
    StoredSession& session = tested.session();
    say(session, door);
    const auto messages = tested.messages();
    REQUIRE(messages.size() == 2);
    const Message& asked = messages[0];
    CHECK(asked.text == door);
    REQUIRE(asked.read_again.size() == 1);
    const ReadAgain& passage = asked.read_again[0];
    CHECK(text_of(tested.store(), passage).find("Tobias painted") != std::string::npos);
    CHECK(passage.held < held_well);
    CHECK(passage.held == tested.listener.rereadings.at(0).read.at(0).held);
    const auto stored = tested.store().library.ids(passage.document, passage.first_token, passage.tokens());
    CHECK(std::equal(stored.begin(), stored.end(), asked.ids.begin() + static_cast<std::ptrdiff_t>(passage.at)));
    const std::vector<engine::TokenId> before(asked.ids.begin(),
                                              asked.ids.begin() + static_cast<std::ptrdiff_t>(passage.at));
    CHECK(contains(before, session.tokenizer().encode("[CHAPTER I]\n", false)));
    CHECK(contains(asked.ids, session.chat_template().question(door)));
    CHECK(messages[1].read_again.empty());
}

TEST_CASE("a follow-up question in a chat reads again what the question before it was about")
{
    ReadBook tested;
    StoredSession& session = tested.session();
    session.set_rereading({.mode = RereadMode::Always, .tokens = 120});
    say(session, "Who was it that buried something?");
    say(session, "And where did she do that?");
    const auto messages = tested.messages();
    REQUIRE(messages.size() == 4);
    REQUIRE(messages[2].read_again.size() == 1);
    CHECK(text_of(tested.store(), messages[2].read_again[0]).find("Margaret buried") != std::string::npos);
    ReadBook alone;
    StoredSession& other = alone.session();
    other.set_rereading({.mode = RereadMode::Always, .tokens = 120});
    say(other, "And where did she do that?");
    CHECK(alone.messages().at(0).read_again.empty());
}

TEST_CASE("passages together have at most as many tokens as the limit, and half of the budget, allow")
{
    ReadBook tested;
    StoredSession& session = tested.session();
    for (const uint32_t limit : {40u, 120u, 240u}) {
        session.set_rereading({.mode = RereadMode::Always, .tokens = limit});
        say(session, door);
        const auto again = tested.messages().at(tested.messages().size() - 2).read_again;
        REQUIRE(again.size() == (limit == 40 ? 0 : 1));
        if (limit > 40) CHECK(again[0].tokens() <= 120);
    }
}

TEST_CASE("what is held well is not read again unless that is asked for")
{
    for (const RereadMode mode : {RereadMode::Auto, RereadMode::Always, RereadMode::Never}) {
        BookSession tested(years(1700, 1) + "Tobias painted the door of the boathouse green.\n");
        StoredSession& session = tested.with_book(rereading(mode));
        say(session, door);
        const auto again = tested.messages().at(0).read_again;
        CHECK(again.size() == (mode == RereadMode::Always ? 1 : 0));
        CHECK(tested.listener.rereadings.size() == (mode == RereadMode::Never ? 0 : 1));
        if (mode != RereadMode::Auto) continue;
        REQUIRE(tested.listener.rereadings.at(0).held.size() == 1);
        CHECK(tested.listener.rereadings[0].held[0].held == 1);
    }
}

TEST_CASE("a passage that was read again a moment ago is held well")
{
    BookSession tested(two_facts());
    StoredOptions newest = rereading(RereadMode::Auto);
    newest.choice.policy = "streaming";
    newest.rereading.answer_from = AnswerFrom::Session; // reads whole passages
    StoredSession& session = tested.with_book(newest);
    say(session, door);
    REQUIRE(tested.messages().at(0).read_again.size() == 1);
    CHECK(tested.messages()[0].read_again[0].held == 0);
    say(session, door);
    CHECK(tested.messages().at(2).read_again.empty());
    CHECK(tested.listener.rereadings.at(1).held.size() == 1);
}

TEST_CASE("sessions with passages that were read again are resumed, taken back and answered anew bit for bit")
{
    ReadBook tested, uninterrupted;
    StoredSession& other = uninterrupted.session();
    say(tested.session(), door);
    const auto answer = say(tested.session(), pearls);
    say(other, door);
    CHECK(say(other, pearls) == answer);
    check_same(tested.session(), other);

    // From the text alone.
    tested.session().strip();
    check_same(tested.session(), other);

    StoredSession& session = tested.session();
    session.undo();
    CHECK(say(session, pearls) == answer);
    check_same(session, other);
    CHECK(tested.messages().at(2).read_again.size() == 1);

    const auto second = session.regenerate(seeded(2), tokens(tests::answer_tokens)).tokens;
    other.undo();
    other.session().set_sampler(seeded(2));
    CHECK(say(other, pearls) == second);
    check_same(session, other);
}

TEST_CASE("a branch and an exported session keep what was read again")
{
    ReadBook tested;
    StoredSession& session = tested.session();
    say(session, door);
    say(session, pearls);
    const auto messages = tested.messages();
    session.branch("other", messages.at(2).id);
    const auto in_branch = tested.store().conversations.messages(tested.store().conversations.get("other").id);
    REQUIRE(in_branch.size() == 2);
    CHECK(in_branch[0].id != messages[0].id);
    REQUIRE(in_branch[0].read_again.size() == 1);
    CHECK(in_branch[0].read_again[0].at == messages[0].read_again[0].at);
    CHECK(in_branch[0].read_again[0].first_token == messages[0].read_again[0].first_token);

    const auto file = tested.folder() / "exported.db";
    export_session(tested.store().database, session.id(), file);
    for (const SessionInfo& info :
         tested.store().conversations.list()) // so that the document is not there any more
        CHECK_FALSE(tested.store().conversations.remove(info.id));
    CHECK(import_session(tested.store().database, file, "imported") == "imported");
    StoredSession& imported = tested.open("imported", rereading(RereadMode::Auto));
    const auto copied = tested.messages();
    REQUIRE(copied.size() == 4);
    for (size_t i : {0u, 2u}) {
        REQUIRE(copied[i].read_again.size() == 1);
        CHECK(copied[i].read_again[0].document != messages[i].read_again[0].document);
        CHECK(copied[i].read_again[0].held == messages[i].read_again[0].held);
        CHECK(!text_of(tested.store(), copied[i].read_again[0]).empty()); // its passages were cut anew
    }
    ReadBook uninterrupted;
    StoredSession& other = uninterrupted.session();
    say(other, door);
    say(other, pearls);
    check_same(imported, other);
    CHECK(say(imported, door) == say(other, door));
    CHECK(std::none_of(tested.listener.notes.begin(), tested.listener.notes.end(),
                       [](const std::string& note) { return note.starts_with("indexing the words of"); }));
    check_same(imported, other);
}

TEST_CASE("removing a session removes what its messages read again")
{
    ReadBook tested;
    say(tested.session(), door);
    const int64_t id = tested.open("book", rereading(RereadMode::Auto)).id();
    Store& store = tested.store();
    CHECK_FALSE(store.conversations.remove(id));
    CHECK(store.database.sql().execAndGet("SELECT count(*) FROM read_again").getInt() == 0);
    CHECK(store.library.list().empty());
}

TEST_CASE("a record of what was read again that does not fit its message is damaged")
{
    ReadBook tested;
    say(tested.session(), door);
    for (const char* change : {"at = 100000", "end_token = first_token + 100000", "end_token = first_token - 1"}) {
        INFO(change);
        Store& store = tested.store();
        store.database.sql().exec("SAVEPOINT before");
        store.database.sql().exec(std::string("UPDATE read_again SET ") + change);
        CHECK(tested.messages().at(0).damaged);
        store.database.sql().exec("ROLLBACK TO before");
        store.database.sql().exec("RELEASE before");
    }
    CHECK_FALSE(tested.messages().at(0).damaged);
}

TEST_CASE("a session that keeps every token reads nothing again for which it has no room")
{
    BookSession tested(years(1700, 1) + "Tobias painted the door of the boathouse green.\n");
    StoredOptions all = rereading(RereadMode::Always);
    all.choice.policy = "full";
    all.choice.budget = "none";
    StoredSession& session = tested.with_book(all);
    CHECK(say(session, door).size() == tests::answer_tokens);
    CHECK(tested.messages().at(0).read_again.empty());
}

TEST_CASE("a document whose text is damaged is left out, and named, and the question is answered")
{
    ReadBook tested;
    tested.session();
    tested.store().database.sql().exec("UPDATE document_blocks SET hash = hash + 1 WHERE kind = 0");
    CHECK(say(tested.session(), door).size() == tests::answer_tokens);
    CHECK(tested.messages().at(0).read_again.empty());
    CHECK(std::any_of(tested.listener.notes.begin(), tested.listener.notes.end(),
                      [](const std::string& note) { return note.find("is left out") != std::string::npos; }));
}

TEST_CASE("questions that find nothing, or spell the syntax of a search, read nothing again and do no harm")
{
    ReadBook tested;
    StoredSession& session = tested.session();
    for (const char* question : {"?", "and then", "NEAR(", "\" OR \"", "xylophone quartz", "text : * ^ -"})
        CHECK(say(session, question).size() == tests::answer_tokens);
    CHECK(tested.listener.rereadings.empty());
    for (const Message& message : tested.messages())
        CHECK(message.read_again.empty());
}
