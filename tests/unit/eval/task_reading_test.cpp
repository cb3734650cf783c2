// Answers to questions that one session is asked are those of sessions of their own.
#include "engine/eval/task_reading.h"

#include "engine/text/detokenizer.h"
#include "tests/support/catch.h"
#include "tests/unit/session/session_fixture.h"

using namespace palimpsest;
using namespace palimpsest::engine;
using namespace palimpsest::tests;

namespace {

constexpr int32_t most = 12;

std::shared_ptr<const Model> answering_model()
{
    return load_random({.vocabulary = 300, .has_tokenizer = true});
}

SessionOptions task_options(const std::string& policy)
{
    SessionOptions options;
    options.policy = PolicySpec::parse(policy);
    options.budget = policy == "full" ? no_budget : 48;
    options.chunk = 16;
    return options;
}

// By hand, token for token.
std::string answer_by_hand(Session& session, std::span<const TokenId> context, std::span<const TokenId> question,
                           bool is_apart)
{
    session.feed(context);
    if (is_apart) session.finish();
    session.feed(question);
    session.finish();
    std::string text;
    IncrementalDetokenizer detokenizer(*session.model().tokenizer(), false);
    const auto is_end = [&](TokenId id) { return session.model().tokenizer()->is_end(id); };
    for (const TokenId token :
         session.generate({.max_tokens = most, .stop = {}, .token = {}, .is_end = is_end}).tokens)
        text += detokenizer.push(token);
    return text + detokenizer.finish();
}

} // namespace

TEST_CASE("no question changes the answer to another")
{
    const auto model = answering_model();
    const std::string policy = GENERATE("full", "treekv", "h2o", "quest");
    CAPTURE(policy);
    const auto context = random_text(150, 5, 256);
    const std::vector<std::vector<TokenId>> questions = {random_text(9, 4, 256), random_text(3, 6, 256),
                                                         random_text(9, 4, 256)};
    Session session(model, task_options(policy));
    const auto answers = read_and_answer(session, context, questions, Protocol::Blind, most, {});
    REQUIRE(answers);
    REQUIRE(answers->size() == 3);
    CHECK(answers->at(0).text == answers->at(2).text);
    for (size_t i = 0; i < questions.size(); ++i) {
        Session own(model, task_options(policy));
        CHECK(answers->at(i).text == answer_by_hand(own, context, questions[i], true));
    }
}

TEST_CASE("a question that is read with its text is one input with it")
{
    const auto model = answering_model();
    const auto context = random_text(150, 5, 256);
    const std::vector<std::vector<TokenId>> questions = {random_text(9, 4, 256)};
    Session session(model, task_options("treekv")), own(model, task_options("treekv"));
    const auto answers = read_and_answer(session, context, questions, Protocol::QuestionLast, most, {});
    REQUIRE(answers);
    CHECK(answers->at(0).text == answer_by_hand(own, context, questions[0], false));
    CHECK(session.retention().tokens == own.retention().tokens);
}

TEST_CASE("a known question changes what is kept, and is not left in the session")
{
    const auto model = answering_model();
    const auto context = random_text(150, 5, 256);
    const std::vector<std::vector<TokenId>> questions = {random_text(9, 4, 256)};
    auto options = task_options("snapkv");
    options.question_room = 9;
    Session steered(model, options), own(model, options);
    REQUIRE(read_and_answer(steered, context, questions, Protocol::Steered, most, {}));
    own.set_question_ids(questions[0]);
    own.feed(context);
    own.finish();
    own.set_question_ids({});
    own.feed(questions[0]);
    own.finish();
    say(own, most);
    CHECK(steered.question_ids().empty());
    CHECK(steered.retention().tokens == own.retention().tokens);
}

TEST_CASE("a stopped reading has no answers")
{
    const auto model = answering_model();
    const std::vector<std::vector<TokenId>> questions = {random_text(9, 4, 256)};
    std::stop_source source;
    source.request_stop();
    Session session(model, task_options("treekv"));
    CHECK_FALSE(read_and_answer(session, random_text(150, 5, 256), questions, Protocol::Blind, most,
                                {.stop = source.get_token(), .progress = {}, .loss = {}}));
}
