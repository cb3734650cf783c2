// What a session answers on copies is what it would have answered itself.
#include "engine/eval/answer_choice.h"

#include "engine/eval/conditional_loss.h"
#include "engine/eval/needle_reading.h"
#include "engine/session/token_loss.h"
#include "tests/support/catch.h"
#include "tests/unit/session/session_fixture.h"

using namespace palimpsest;
using namespace palimpsest::engine;
using namespace palimpsest::tests;

namespace {

SessionOptions options_of(const std::string& policy)
{
    SessionOptions options;
    options.policy = PolicySpec::parse(policy);
    options.budget = policy == "full" ? no_budget : 48;
    options.chunk = 16;
    return options;
}

const std::vector<std::vector<TokenId>> answers = {random_text(3, 11), random_text(5, 12), random_text(1, 13)};

// On a session of its own that reads text, question and answer one after the other, without copies.
double loss_in_one_go(const std::shared_ptr<const Model>& model, const std::string& policy,
                      std::span<const TokenId> text, std::span<const TokenId> question,
                      std::span<const TokenId> answer)
{
    Session session(model, options_of(policy));
    for (const auto part : {text, question}) {
        session.feed(part);
        session.finish();
    }
    double sum = 0;
    if (!session.policy().retrieval()) {
        const FeedOptions feed{
            .stop = {}, .progress = {}, .loss = [&](uint64_t, TokenId, double nll) { sum += nll; }};
        session.feed(answer, feed);
        session.finish(feed);
        return sum;
    }
    for (const TokenId token : answer) {
        sum += negative_log_likelihood(session.logits(), token);
        session.replay(std::span(&token, 1), false);
    }
    return sum;
}

} // namespace

TEST_CASE("the losses of answers are those of sessions that read text, question and answer themselves")
{
    const auto model = load_random();
    const std::string policy = GENERATE("full", "treekv", "h2o", "snapkv", "quest");
    CAPTURE(policy);
    const auto text = random_text(150), question = random_text(9, 4);
    Session session(model, options_of(policy));
    session.feed(text);
    session.finish();
    const auto kept = session.retention().tokens;
    const auto choice = choose_answer(session, question, answers);
    REQUIRE(choice);
    REQUIRE(choice->losses.size() == answers.size());
    for (size_t i = 0; i < answers.size(); ++i)
        CHECK(choice->losses[i] == Approx(loss_in_one_go(model, policy, text, question, answers[i])).epsilon(1e-4));
    CHECK(session.retention().tokens == kept);
    CHECK(session.tokens_seen() == 150);
}

TEST_CASE("a session that keeps everything has the losses of the whole text")
{
    const auto model = load_random();
    const auto text = random_text(60), question = random_text(9, 4);
    Session session(model, options_of("full"));
    session.feed(text);
    const auto choice = choose_answer(session, question, answers);
    REQUIRE(choice);
    std::vector<TokenId> context = text;
    context.insert(context.end(), question.begin(), question.end());
    for (size_t i = 0; i < answers.size(); ++i)
        CHECK(choice->losses[i] == Approx(*conditional_loss(model, context, answers[i])).epsilon(1e-4));
}

TEST_CASE("the best answer has the least loss, and the first does not win a tie")
{
    CHECK(AnswerChoice{{2, 1, 3}}.best() == 1);
    CHECK(AnswerChoice{{1, 1, 3}}.best() == 1);
    CHECK(AnswerChoice{{1, 2, 3}}.best() == 0);
    CHECK(AnswerChoice{{1}}.best() == 0);
}

TEST_CASE("a generated answer is what the session itself would generate, up to the end of a line")
{
    const auto model = load_random({.vocabulary = 300, .has_tokenizer = true});
    const Tokenizer& tokenizer = *model->tokenizer();
    const auto text = random_text(100, 5, 300), question = random_text(9, 4, 300);
    Session session(model, options_of("treekv"));
    session.feed(text);
    session.finish();
    const auto said = generated_answer(session, question, 12);
    REQUIRE(said);
    session.feed(question);
    session.finish();
    std::string expected;
    for (int i = 0; i < 12; ++i) {
        const std::vector<float>& logits = session.logits();
        const auto token = static_cast<TokenId>(std::max_element(logits.begin(), logits.end()) - logits.begin());
        if (tokenizer.is_end(token)) break;
        expected += tokenizer.surface(token);
        const size_t begin = expected.find_first_not_of(" \n");
        if (begin != expected.npos && expected.find('\n', begin) != expected.npos) break;
        session.replay(std::span(&token, 1), false);
    }
    CHECK(*said == expected);
}

TEST_CASE("questions that are asked of a needle's text are those of the session that has read it")
{
    const auto model = load_random({.vocabulary = 300, .has_tokenizer = true});
    std::string sentences;
    for (int i = 0; i < 200; ++i)
        sentences += "The keeper wrote. ";
    const auto text = model->tokenizer()->encode(sentences, false);
    const std::vector<double> depths = {0.5};
    const NeedleText needles = make_needle_text(*model->tokenizer(), text, 0, 400, depths, {.seed = 3});
    const auto protocol = GENERATE(Protocol::Blind, Protocol::Steered, Protocol::QuestionLast);
    CAPTURE(name_of(protocol));
    SessionOptions options = options_of("snapkv");
    options.question_room = static_cast<int32_t>(needles.asked[0].question.size());
    Session session(model, options), expected(model, options);
    const auto found = read_needles(session, needles, protocol, 4, {});
    REQUIRE(found);
    REQUIRE(found->size() == 1);

    if (protocol == Protocol::Steered) expected.set_question_ids(needles.asked[0].question);
    expected.feed(needles.tokens);
    if (protocol == Protocol::QuestionLast) expected.feed(needles.asked[0].question);
    expected.finish();
    expected.set_question_ids({});
    CHECK((*found)[0].held == expected.held(needles.asked[0].at));
    CHECK(session.retention().tokens == expected.retention().tokens);
    const std::vector<TokenId> none;
    const auto choice = choose_answer(
        expected, protocol == Protocol::QuestionLast ? none : needles.asked[0].question, needles.asked[0].answers);
    CHECK((*found)[0].losses == choice->losses);
    CHECK((*found)[0].is_chosen == (choice->best() == 0));
    CHECK((*found)[0].is_generated.has_value());
}

TEST_CASE("a stopped question has no answer")
{
    const auto model = load_random();
    Session session(model, options_of("treekv"));
    session.feed(random_text(100));
    session.finish();
    std::stop_source stop;
    stop.request_stop();
    CHECK_FALSE(choose_answer(session, random_text(9, 4), answers, stop.get_token()));
    CHECK(session.tokens_seen() == 100);
}
