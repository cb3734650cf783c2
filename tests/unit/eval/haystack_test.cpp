#include "engine/eval/haystack.h"

#include <algorithm>

#include "engine/eval/needle_reading.h"
#include "kernels/base/error.h"
#include "tests/support/catch.h"
#include "tests/unit/session/session_fixture.h"

using namespace palimpsest;
using namespace palimpsest::engine;
using namespace palimpsest::tests;

namespace {

std::shared_ptr<const Model> model_with_text()
{
    return load_random({.vocabulary = 300, .has_tokenizer = true});
}

std::string text_of(const Tokenizer& tokenizer, std::span<const TokenId> tokens)
{
    std::string text;
    for (const TokenId token : tokens)
        text += tokenizer.surface(token);
    return text;
}

// Ten lines of ten letters, line ends included: a token for each.
std::string sentences()
{
    std::string text;
    for (char c = 'a'; c < 'k'; ++c)
        text += std::string(9, c) + "\n";
    return text;
}

} // namespace

TEST_CASE("an insertion stands behind the last sentence that ends before its depth")
{
    const auto model = model_with_text();
    const Tokenizer& tokenizer = *model->tokenizer();
    const auto text = tokenizer.encode(sentences(), false);
    REQUIRE(text.size() == 100);
    const auto needle = tokenizer.encode("<n>", false);
    struct Case {
        double depth;
        size_t at;
    };
    const auto [depth, at] =
        GENERATE(Case{0, 0}, Case{0.05, 0}, Case{0.1, 10}, Case{0.5, 50}, Case{0.59, 50}, Case{1, 100});
    CAPTURE(depth);
    const Haystack made = make_haystack(tokenizer, text, 0, 103, std::vector<Insertion>{{needle, depth}});
    CHECK(made.tokens.size() == 103);
    CHECK(made.inserted[0] == TokenRange{static_cast<uint32_t>(at), static_cast<uint32_t>(at + 3)});
    CHECK(text_of(tokenizer, made.tokens) == sentences().insert(at, "<n>"));
}

TEST_CASE("a text keeps its first tokens, is cut to its length, and holds insertions in the order of their places")
{
    const auto model = model_with_text();
    const Tokenizer& tokenizer = *model->tokenizer();
    std::vector<TokenId> text = {tokenizer.bos()};
    const auto own = tokenizer.encode(sentences(), false);
    text.insert(text.end(), own.begin(), own.end());
    const auto one = tokenizer.encode("<1>", false), two = tokenizer.encode("<2>", false),
               three = tokenizer.encode("<3>", false);
    const Haystack made =
        make_haystack(tokenizer, text, 1, 70, std::vector<Insertion>{{one, 1}, {two, 0}, {three, 0.01}});
    REQUIRE(made.tokens.size() == 70);
    CHECK(made.tokens[0] == tokenizer.bos());
    CHECK(made.inserted[1] == TokenRange{1, 4});
    CHECK(made.inserted[2] == TokenRange{4, 7});
    CHECK(made.inserted[0].last == 70); // 60 letters: behind the sixth sentence
    CHECK(text_of(tokenizer, std::span(made.tokens).subspan(1, 6)) == "<2><3>");
}

TEST_CASE("a text without sentences takes an insertion where it is asked for")
{
    const auto model = model_with_text();
    const Tokenizer& tokenizer = *model->tokenizer();
    const auto text = tokenizer.encode(std::string(1000, 'x'), false);
    const auto needle = tokenizer.encode("<n>", false);
    const Haystack made = make_haystack(tokenizer, text, 0, 1003, std::vector<Insertion>{{needle, 0.5}});
    CHECK(made.inserted[0].first == 500);
}

TEST_CASE("a stop within a number or a word ends no sentence, and no character is split")
{
    const auto model = model_with_text();
    const Tokenizer& tokenizer = *model->tokenizer();
    const auto place = [&](const std::string& text, size_t bytes) {
        const auto tokens = tokenizer.encode(text, false);
        REQUIRE(tokens.size() == text.size());
        const double depth = static_cast<double>(bytes) / static_cast<double>(text.size());
        return make_haystack(tokenizer, tokens, 0, tokens.size() + 3,
                             std::vector<Insertion>{{tokenizer.encode("<n>", false), depth}})
            .inserted[0]
            .first;
    };
    std::string numbers, lines;
    for (int i = 0; i < 100; ++i) {
        numbers += "3.14";
        lines += "\u706f\u53f0\u3002\u706f";
    }
    CHECK(place(numbers, 302) == 302);
    CHECK(place("See.\n" + numbers, 7) == 5);
    CHECK(place(lines, 24) == 21); // behind the last full stop
    std::string han;
    for (int i = 0; i < 200; ++i)
        han += "\u706f";
    CHECK(place(han, 301) == 300);
}

TEST_CASE("needles of a text stand in it as they are asked for, with their decoys, and do not depend on later ones")
{
    const auto model = model_with_text();
    const Tokenizer& tokenizer = *model->tokenizer();
    std::string long_text;
    for (int i = 0; i < 30; ++i)
        long_text += sentences();
    const auto text = tokenizer.encode(long_text, false);
    const NeedleSettings settings{.wording = NeedleWording::Paraphrased, .decoys = 2, .seed = 5};
    const std::vector<double> depths = {0.75, 0.25};
    const NeedleText made = make_needle_text(tokenizer, text, 0, 2000, depths, settings);
    CHECK(made.tokens.size() == 2000);
    REQUIRE(made.asked.size() == 2);
    const std::string all = text_of(tokenizer, made.tokens);
    for (const NeedleText::Asked& asked : made.asked) {
        const auto sentence = std::span(made.tokens).subspan(asked.at.first, asked.at.last - asked.at.first);
        CHECK(text_of(tokenizer, sentence).ends_with(asked.value + "."));
        CHECK(static_cast<double>(asked.at.first) / 2000 == Approx(asked.depth).margin(0.1));
        size_t in_text = 0;
        for (const auto& answer : asked.answers)
            in_text += all.find(text_of(tokenizer, answer)) != all.npos ? 1 : 0;
        CHECK(in_text == 4); // its own, the decoys', and the other needle's
    }
    const NeedleText first = make_needle_text(tokenizer, text, 0, 2000, std::span(depths).first(1), settings);
    CHECK(first.asked[0].value == made.asked[0].value);
    CHECK(first.asked[0].question == made.asked[0].question);
}

TEST_CASE("a text that is too short, or shorter than its needles, is refused")
{
    const auto model = model_with_text();
    const Tokenizer& tokenizer = *model->tokenizer();
    const auto text = tokenizer.encode(sentences(), false);
    const std::vector<double> depths = {0.5};
    CHECK_THROWS_AS(make_needle_text(tokenizer, text, 0, 1000, depths, {}), Error);
    CHECK_THROWS_AS(make_needle_text(tokenizer, text, 0, 20, depths, {}), Error);
}
