// Answers of stored sessions that an empty session writes from sentences alone: they do not depend on the cache,
// and the session takes them in as its own.
#include <algorithm>

#include "storage/session/message_kind.h"
#include "storage/session/passage_answer.h"
#include "storage/transfer.h"
#include "tests/unit/storage/book_session.h"

using namespace palimpsest;
using namespace palimpsest::storage;
using palimpsest::tests::BookSession;
using palimpsest::tests::check_same;
using palimpsest::tests::say;
using palimpsest::tests::tokens;

namespace {

constexpr const char* door = "Who painted the door of the boathouse?";

std::string boathouse()
{
    std::string text;
    for (int year = 1700; year < 1820; ++year) {
        text += "In the year " + std::to_string(year) + " the light was kept by the sea, and no one came by.\n\n";
        if (year == 1740) text += "Tobias painted the door of the boathouse green. He was proud of it.\n\n";
    }
    return text;
}

StoredOptions options(const std::string& policy, AnswerFrom from)
{
    StoredOptions options = tests::options();
    options.choice.policy = policy;
    options.choice.budget = policy == "full" ? "none" : "240";
    options.rereading = {.mode = RereadMode::Always, .tokens = 120, .answer_from = from};
    return options;
}

struct Talk : BookSession {
    explicit Talk(AnswerFrom from, const std::string& policy = "treekv")
        : BookSession(boathouse()), session(with_book(options(policy, from)))
    {
    }
    StoredSession& session;
};

std::vector<engine::TokenId> answer_of(AnswerFrom from, const std::string& policy,
                                       const std::string& message = door)
{
    Talk talk(from, policy);
    return say(talk.session, message);
}

} // namespace

TEST_CASE("an answer from sentences does not depend on what the cache holds")
{
    const auto apart = answer_of(AnswerFrom::Auto, "treekv");
    CHECK(apart.size() == tests::answer_tokens);
    CHECK(answer_of(AnswerFrom::Auto, "streaming") == apart);
    CHECK(answer_of(AnswerFrom::Passages, "streaming") == apart);
    CHECK(answer_of(AnswerFrom::Session, "streaming") != answer_of(AnswerFrom::Session, "treekv"));
    CHECK(answer_of(AnswerFrom::Session, "treekv") != apart);
}

TEST_CASE("a session reads the sentences again that an answer was written from, and takes the answer in")
{
    Talk talk(AnswerFrom::Auto);
    const uint64_t before = talk.session.session().tokens_seen();
    const auto answer = say(talk.session, door);
    const auto messages = talk.messages();
    REQUIRE(messages.size() == 2);
    const auto& excerpts = talk.listener.rereadings.at(0).excerpts;
    REQUIRE(messages[0].read_again.size() == excerpts.size());
    CHECK(excerpts.at(0).text.find("Tobias painted the door of the boathouse green.") != std::string::npos);
    CHECK(messages[0].read_again[0].first_token == excerpts[0].place.first_token);
    CHECK(messages[0].read_again[0].end_token == excerpts[0].place.end_token);
    CHECK(messages[1].ids == answer);
    CHECK(talk.session.session().tokens_seen() == before + messages[0].ids.size() + answer.size());

    // As if it had chosen the answer itself.
    Talk other(AnswerFrom::Session);
    auto& session = other.session.session();
    session.set_question_ids({});
    session.feed(messages[0].ids);
    session.replay(answer, false);
    check_same(talk.session, other.session);
}

TEST_CASE("what is no question, and what is about the talk, is answered by the session")
{
    for (const char* message : {"The door of the boathouse was painted.", "Paint the door of the boathouse!"}) {
        INFO(message);
        Talk talk(AnswerFrom::Auto);
        say(talk.session, message);
        CHECK(talk.listener.rereadings.at(0).excerpts.empty());
        CHECK_FALSE(talk.listener.rereadings.at(0).read.empty());
        talk.session.set_rereading(options("treekv", AnswerFrom::Passages).rereading);
        say(talk.session, message);
        CHECK_FALSE(talk.listener.rereadings.at(1).excerpts.empty());
    }
    Talk talk(AnswerFrom::Auto);
    constexpr const char* ours = "Which of us painted the door of the boathouse?";
    for (const bool was_said : {false, true}) { // the first message of a talk is not about what was said
        say(talk.session, ours);
        CHECK(talk.listener.rereadings.back().excerpts.empty() == was_said);
    }
}

TEST_CASE("other answers to a question are written from the same sentences")
{
    for (const AnswerFrom from : {AnswerFrom::Auto, AnswerFrom::Session}) {
        Talk talk(from);
        const auto first = say(talk.session, door);
        const auto sampler = talk.session.session().options().sampler;
        const auto again = talk.session.regenerate(sampler, tokens(tests::answer_tokens)).tokens;
        CHECK(again == first);
        CHECK(talk.session.regenerate(tests::seeded(5), tokens(tests::answer_tokens)).tokens != first);
    }
    Talk session(AnswerFrom::Session), apart(AnswerFrom::Auto);
    const auto written = say(apart.session, door);
    apart.session.set_rereading(options("treekv", AnswerFrom::Session).rereading);
    const auto sampler = apart.session.session().options().sampler;
    CHECK(apart.session.regenerate(sampler, tokens(tests::answer_tokens)).tokens != written);
}

TEST_CASE("an answer from sentences that was stopped is taken in as far as it came")
{
    Talk talk(AnswerFrom::Auto);
    auto some = tokens(tests::answer_tokens);
    int told = 0;
    some.token = [&](engine::TokenId) { return ++told < 5; };
    const auto stopped = talk.session.say(door, some);
    CHECK(stopped.end == engine::GenerateEnd::Stopped);
    CHECK(stopped.tokens.size() == 5);
    CHECK(talk.messages().at(1).ids == stopped.tokens);

    std::stop_source stop;
    some.stop = stop.get_token();
    some.token = [&](engine::TokenId) { return stop.request_stop(); };
    const auto cancelled = talk.session.say(door, some);
    CHECK(cancelled.end == engine::GenerateEnd::Cancelled);
    CHECK(cancelled.tokens.size() == 1);

    Talk fresh(AnswerFrom::Auto);
    some = tokens(5);
    CHECK(fresh.session.say(door, some).tokens == stopped.tokens);
    CHECK(fresh.session.say(door, tokens(1)).tokens == cancelled.tokens);
    check_same(talk.open("book", options("treekv", AnswerFrom::Auto)), fresh.session);
}

TEST_CASE("an answer from sentences that was stopped before its first token changes nothing that is computed")
{
    const auto given = options("treekv", AnswerFrom::Auto);
    Talk talk(AnswerFrom::Auto), other(AnswerFrom::Auto);
    for (Talk* one : {&talk, &other}) {
        std::stop_source stop;
        auto some = tokens(tests::answer_tokens, stop.get_token());
        one->listener.at_found = [&] { stop.request_stop(); };
        CHECK(one->session.say(door, some).tokens.empty());
        one->listener.at_found = {};
        CHECK(say(one->session, "Who came by in the year 1750?").size() == tests::answer_tokens);
    }
    talk.session.strip();
    StoredSession& again = talk.open("book", given); // from its text alone
    check_same(again, other.session);
    again.undo();
    other.session.undo();
    check_same(again, other.session);
}

TEST_CASE("a session with answers from sentences is the same from its text alone, and as a branch and an import")
{
    const auto given = options("treekv", AnswerFrom::Auto);
    Talk talk(AnswerFrom::Auto), other(AnswerFrom::Auto);
    for (Talk* one : {&talk, &other}) {
        say(one->session, door);
        say(one->session, "And was he proud of it?");
    }
    const auto file = talk.folder() / "exported.db";
    export_session(talk.store().database, talk.session.id(), file);
    CHECK(import_session(talk.store().database, file, "imported") == "imported");
    fork_session(talk.store(), "book", "copy");
    for (const char* name : {"imported", "copy", "book"}) {
        INFO(name);
        StoredSession& session = talk.open(name, given);
        session.strip();
        StoredSession& again = talk.open(name, given);
        CHECK(again.tokens_fed_again() == again.stream().tokens());
        check_same(again, other.session);
    }
}

TEST_CASE("an answer from sentences ends where the session is full")
{
    engine::SessionOptions all;
    all.policy.name = "full";
    all.chunk = 16;
    engine::Session session(tests::model(), all);
    const auto& tokenizer = *tests::model()->tokenizer();
    session.feed(tokenizer.encode("The light was kept by the sea, and no one came by.", true));
    const auto seen = session.tokens_seen() + static_cast<uint64_t>(session.pending());
    const auto prompt = tokenizer.encode("The light", true);
    const auto result = generate_apart(session, tests::model(), prompt, {}, tokens(100000));
    CHECK(result.end == engine::GenerateEnd::Full);
    CHECK_FALSE(result.tokens.empty());
    CHECK(session.tokens_seen() == seen + result.tokens.size());
    CHECK_THROWS_AS(session.require_room(1), Error);
    const auto rest = generate_apart(session, tests::model(), prompt, {}, tokens(5));
    CHECK(rest.end == engine::GenerateEnd::Full);
    CHECK(rest.tokens.empty());
}

TEST_CASE("an answer from sentences that is stopped before it begins leaves an incomplete chunk pending")
{
    engine::SessionOptions options;
    options.budget = 64;
    options.chunk = 16;
    engine::Session session(tests::model(), options);
    const auto& tokenizer = *tests::model()->tokenizer();
    session.feed(tokenizer.encode("The light was kept.", true));
    const auto pending = session.pending();
    REQUIRE(pending > 0);
    std::stop_source stop;
    stop.request_stop();
    const auto prompt = tokenizer.encode("The light", true);
    const auto stopped = generate_apart(session, tests::model(), prompt, {}, tokens(5, stop.get_token()));
    CHECK(stopped.end == engine::GenerateEnd::Cancelled);
    CHECK(session.pending() == pending);
    // An answer that ends at once does compute it, as catching up with a stored one does.
    auto ending = tokens(5);
    ending.is_end = [](engine::TokenId) { return true; };
    CHECK(generate_apart(session, tests::model(), prompt, {}, ending).end == engine::GenerateEnd::EndOfText);
    CHECK(session.pending() == 0);
}

TEST_CASE("a question that refers back is asked after the exchange that it refers to")
{
    Talk talk(AnswerFrom::Auto);
    say(talk.session, "Who was it that painted?");
    const auto parts = std::span(talk.session.parts());
    const auto before = exchange_before("And what colour did he paint it?", parts, talk.store());
    REQUIRE(before);
    CHECK(before->question == "Who was it that painted?");
    CHECK(before->answer == talk.messages().at(1).ids);
    CHECK_FALSE(exchange_before("Which colour did Tobias paint the door?", parts, talk.store()));
    CHECK_FALSE(exchange_before("And what colour did he paint it?", parts.first(parts.size() - 2), talk.store()));

    const std::vector<std::string> texts = {"Tobias painted it.", "It was green."};
    const auto& chat_template = talk.session.chat_template();
    const auto alone = prompt_apart(chat_template, {}, texts, "Who?"),
               after = prompt_apart(chat_template, before, texts, "Who?");
    const auto has = [](const auto& ids, const auto& part) {
        return std::search(ids.begin(), ids.end(), part.begin(), part.end()) != ids.end();
    };
    const auto whole = talk.session.tokenizer().encode("Tobias painted it.\n\nIt was green.\n\nWho?", false);
    CHECK(has(alone, std::vector(whole.begin() + 1, whole.end())));
    CHECK(has(after, std::vector(whole.begin() + 1, whole.end())));
    CHECK_FALSE(has(alone, before->answer));
    CHECK(has(after, before->answer));
}

TEST_CASE("a question is answered while the document is read, from what was read, and the reading does not notice")
{
    const auto given = options("treekv", AnswerFrom::Auto);
    BookSession tested(boathouse() + "Margaret buried her pearls below the sundial.\n");
    StoredSession& session = tested.open("book", given);
    std::vector<std::string> quotes;
    std::vector<double> shares;
    tested.listener.at_progress = [&] {
        if (!session.is_half_read()) return;
        for (const char* question : {door, "Where did Margaret bury her pearls?"}) {
            const auto answer = session.answer_early(question, tokens(tests::answer_tokens));
            if (!answer) continue;
            CHECK_FALSE(answer->text.empty());
            REQUIRE(answer->support.quote);
            quotes.push_back(answer->support.quote->text);
            shares.push_back(answer->share);
        }
    };
    Document document = tested.book();
    session.read(document);
    tested.listener.at_progress = {};
    const auto found = std::count_if(quotes.begin(), quotes.end(),
                                     [](const std::string& quote) { return quote.starts_with("Tobias painted"); });
    CHECK(found > 1);
    CHECK(std::none_of(quotes.begin(), quotes.end(),
                       [](const std::string& quote) { return quote.starts_with("Margaret buried"); }));
    CHECK(std::is_sorted(shares.begin(), shares.end()));
    CHECK(shares.front() > 0);
    CHECK(shares.back() < 1);

    BookSession other(boathouse() + "Margaret buried her pearls below the sundial.\n");
    check_same(session, other.with_book(given));
    CHECK(tested.messages().empty());
}

TEST_CASE("what the session must answer is not answered early")
{
    for (const bool never : {true, false}) {
        auto given = options("treekv", never ? AnswerFrom::Auto : AnswerFrom::Session);
        if (never) given.rereading.mode = RereadMode::Never;
        BookSession tested(boathouse());
        StoredSession& session = tested.with_book(given);
        CHECK_FALSE(session.answer_early(door, tokens(tests::answer_tokens)));
        session.set_rereading(options("treekv", AnswerFrom::Auto).rereading);
        CHECK_FALSE(session.answer_early("The boathouse has a door.", tokens(tests::answer_tokens)));
        CHECK_FALSE(session.answer_early("Xylophone quartz?", tokens(tests::answer_tokens)));
        std::stop_source stop;
        stop.request_stop();
        CHECK_FALSE(session.answer_early(door, tokens(tests::answer_tokens, stop.get_token())));
        const auto answer = session.answer_early(door, tokens(tests::answer_tokens));
        REQUIRE(answer);
        CHECK(answer->share == 1);
    }
}

TEST_CASE("messages are told apart by how they begin and end")
{
    for (const char* message :
         {"Why?", "Who else?", "What about Ruth?", "Did he like London?", "Tell me more.", "And Ruth Adams?"})
        CHECK_FALSE(stands_alone(message));
    for (const char* message : {"Who painted the door of the boathouse?", "When did Ruth leave London?"})
        CHECK(stands_alone(message));
    for (const char* message :
         {"Who kept the light?", "\"Who kept it?\" ", "who kept the light", "Tell me about Tobias.",
          "Tobias, was he the keeper?", "\u8C01\u662F\u5B88\u706F\u4EBA\uFF1F", "?"})
        CHECK(is_question(message));
    for (const char* message :
         {"", " ", "Thanks.", "Say that in German.", "I know who kept it.", "Whoever kept it."})
        CHECK_FALSE(is_question(message));
    for (const char* message :
         {"What is my brother called?", "What did you say of him?", "Where did we stop?", "Is it YOUR light?"})
        CHECK(is_about_conversation(message));
    for (const char* message :
         {"", "Who kept the light?", "Can you tell me who kept the light?", "Would you name him?",
          "Tell me his name.", "Who found the gold mine?", "Which US president was it?", "Who was Charles I?",
          "Who said \"I saw my brother\"?"})
        CHECK_FALSE(is_about_conversation(message));
}
