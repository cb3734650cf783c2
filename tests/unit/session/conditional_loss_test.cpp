#include "engine/eval/conditional_loss.h"

#include "kernels/base/error.h"
#include "tests/support/catch.h"
#include "tests/unit/session/session_fixture.h"

using namespace palimpsest;
using namespace palimpsest::engine;
using namespace palimpsest::tests;

TEST_CASE("the loss of a text after another is the sum of its tokens' losses in one reading of both")
{
    const auto model = load_random();
    const auto context = random_text(40, 3), text = random_text(11, 4);
    SessionOptions options;
    options.policy = {"full", {}};
    options.budget = no_budget;
    Session session(model, options);
    double sum = 0, all = 0;
    const FeedOptions feed{.stop = {}, .progress = {}, .loss = [&](uint64_t index, TokenId, double nll) {
                               all += nll;
                               if (index >= 40) sum += nll;
                           }};
    session.feed(context, feed);
    session.feed(text, feed);
    session.finish(feed);
    const auto loss = conditional_loss(model, context, text);
    REQUIRE(loss);
    CHECK(*loss == Approx(sum).epsilon(1e-4));
    CHECK(sum < all);
}

TEST_CASE("a stopped loss is none, and a text that does not fit the model's context is refused")
{
    const auto model = load_random();
    std::stop_source stopped;
    stopped.request_stop();
    CHECK_FALSE(conditional_loss(model, random_text(40), random_text(5), stopped.get_token()));
    const auto context = static_cast<size_t>(model->config().context);
    CHECK_THROWS_AS(conditional_loss(model, random_text(context), random_text(5)), Error);
}
