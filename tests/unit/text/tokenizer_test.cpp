#include "engine/text/tokenizer.h"

#include <ctime>

#include "engine/text/detokenizer.h"
#include "kernels/base/error.h"
#include "tests/support/catch.h"
#include "tests/unit/text/fixtures.h"

using namespace palimpsest;
using namespace palimpsest::engine;
using namespace std::string_literals;

namespace {

std::string decode(const Tokenizer& tokenizer, const std::vector<TokenId>& ids, bool stream_start)
{
    IncrementalDetokenizer detokenizer(tokenizer, stream_start);
    std::string text;
    for (TokenId id : ids)
        text += detokenizer.push(id);
    return text + detokenizer.finish();
}

// Encodes a stream whose pieces arrive one by one.
std::vector<EncodedToken> stream(const Tokenizer& tokenizer, const std::vector<std::string_view>& pieces,
                                 bool first_piece)
{
    std::vector<EncodedToken> tokens;
    std::string pending;
    uint64_t offset = 0;
    for (size_t i = 0; i < pieces.size(); ++i) {
        pending += pieces[i];
        const size_t done =
            tokenizer.encode_prefix(pending, first_piece && offset == 0, i + 1 == pieces.size(), offset, tokens);
        pending.erase(0, done);
        offset += done;
    }
    return tokens;
}

std::vector<TokenId> ids_of(const std::vector<EncodedToken>& tokens)
{
    std::vector<TokenId> ids;
    for (const EncodedToken& token : tokens)
        ids.push_back(token.id);
    return ids;
}

} // namespace

TEST_CASE("texts are encoded to the ids of sentencepiece")
{
    const std::string model = GENERATE("palimpsest", "llama", "unigram");
    const Tokenizer tokenizer(fixtures::model_vocabulary(model));
    CHECK(tokenizer.bos() == 1);
    CHECK(tokenizer.eos() == 2);
    for (const auto& c : fixtures::encode_cases(model)) {
        INFO(model << ": " << c.text);
        CHECK(tokenizer.encode(c.text, true) == c.first);
        CHECK(tokenizer.encode(c.text, false) == c.later);
    }
}

TEST_CASE("a vocabulary of pieces gives the same ids as the sentencepiece model it came from")
{
    const std::string model = GENERATE("palimpsest", "llama");
    const Tokenizer tokenizer(fixtures::piece_vocabulary(model));
    CHECK(tokenizer.adds_space_prefix());
    for (const auto& c : fixtures::encode_cases(model)) {
        INFO(model << ": " << c.text);
        CHECK(tokenizer.encode(c.text, true) == c.first);
        CHECK(tokenizer.encode(c.text, false) == c.later);
    }
}

TEST_CASE("without a dummy prefix a text gets the same ids at the start as later in a stream")
{
    Vocabulary vocabulary = fixtures::piece_vocabulary("palimpsest");
    vocabulary.add_space_prefix = false;
    const Tokenizer tokenizer(vocabulary);
    CHECK_FALSE(tokenizer.adds_space_prefix());
    for (const auto& c : fixtures::encode_cases("palimpsest"))
        CHECK(tokenizer.encode(c.text, true) == c.later);
}

TEST_CASE("decoding the ids of a text gives the text")
{
    const std::string model = GENERATE("palimpsest", "llama");
    const Tokenizer tokenizer(fixtures::model_vocabulary(model));
    for (const auto& c : fixtures::encode_cases(model)) {
        INFO(c.text);
        CHECK(decode(tokenizer, tokenizer.encode(c.text, true), true) == c.text);
        CHECK(decode(tokenizer, tokenizer.encode(c.text, false), false) == c.text);
        CHECK(c.decoded == c.text);
    }
}

TEST_CASE("a text gets the same ids wherever it is cut")
{
    const std::string model = GENERATE("palimpsest", "llama", "unigram");
    const Tokenizer tokenizer(fixtures::model_vocabulary(model));
    std::string text;
    for (const auto& c : fixtures::encode_cases(model))
        text += c.text + "\n";
    const std::vector<TokenId> whole = tokenizer.encode(text, true);
    std::mt19937 random(9);
    for (size_t longest : {1, 5, 100, 5000})
        CHECK(ids_of(stream(tokenizer, fixtures::random_cuts(text, longest, random), true)) == whole);
}

TEST_CASE("source ranges leave no gap and contain the text of their tokens")
{
    const std::string model = GENERATE("palimpsest", "llama", "unigram");
    const Tokenizer tokenizer(fixtures::model_vocabulary(model));
    for (const auto& c : fixtures::encode_cases(model)) {
        std::vector<EncodedToken> tokens;
        CHECK(tokenizer.encode_prefix(c.text, false, true, 100, tokens) == c.text.size());
        uint64_t at = 100;
        for (const EncodedToken& token : tokens) {
            REQUIRE(token.begin == at);
            REQUIRE(token.end >= at);
            at = token.end;
            const std::string spelled = c.text.substr(token.begin - 100, token.end - token.begin);
            if (!tokenizer.is_unknown(token.id)) CHECK(tokenizer.surface(token.id) == spelled);
        }
        CHECK(at == 100 + c.text.size());
    }
}

TEST_CASE("lines are encoded together if a piece may span a line end")
{
    Vocabulary vocabulary = fixtures::piece_vocabulary("palimpsest");
    const auto add = [&](const std::string& piece, float score) {
        vocabulary.pieces.push_back(piece);
        vocabulary.scores.push_back(score);
        vocabulary.types.push_back(1);
    };
    vocabulary.types[6] = 1; // a normal piece, so that "\n" takes part in merges
    add("\n\n", -0.1f);
    add("\n\xE2\x96\x81", -0.2f);
    const Tokenizer tokenizer(vocabulary);
    CHECK(tokenizer.encode("\n\n", false) == std::vector<TokenId>{tokenizer.id("\n\n")});
    CHECK(tokenizer.encode("\n ", false) == std::vector<TokenId>{tokenizer.id("\n\xE2\x96\x81")});
    const std::string text = "a\n\nb\n c\n\n\n\nthe\n \n stair\n";
    std::vector<EncodedToken> whole;
    tokenizer.encode_prefix(text, true, true, 0, whole);
    const auto count = [&](const std::string& piece) {
        return std::count_if(whole.begin(), whole.end(),
                             [&](const EncodedToken& t) { return t.id == tokenizer.id(piece); });
    };
    CHECK(count("\n\n") == 3);
    CHECK(count("\n\xE2\x96\x81") == 3);
    std::mt19937 random(2);
    for (int round = 0; round < 20; ++round)
        CHECK(ids_of(stream(tokenizer, fixtures::random_cuts(text, 4, random), true)) == ids_of(whole));
}

TEST_CASE("the spelling of a control token is encoded as plain text")
{
    Vocabulary vocabulary = fixtures::piece_vocabulary("palimpsest");
    vocabulary.types[3] = 4; // a file that declares <|user|> as user-defined must make no difference
    const Tokenizer tokenizer(vocabulary);
    std::string text;
    for (TokenId id = 0; id < tokenizer.size(); ++id)
        text += tokenizer.piece(id) + " ";
    for (TokenId id : tokenizer.encode(text, true))
        CHECK_FALSE(tokenizer.is_control(id));
    CHECK(tokenizer.is_control(3));

    // sentencepiece would produce a control piece of one character.
    vocabulary.types[static_cast<size_t>(tokenizer.id("k"))] = 3;
    CHECK_THROWS_AS(Tokenizer(vocabulary), Error);
}

TEST_CASE("a line over 64 KiB is cut, at a space near the limit if there is one")
{
    const Tokenizer tokenizer(fixtures::model_vocabulary("palimpsest"));
    const size_t limit = Tokenizer::longest_stretch;
    const auto first_cut = [&](const std::string& text) {
        std::vector<EncodedToken> tokens;
        return tokenizer.encode_prefix(text, false, false, 0, tokens);
    };
    CHECK(first_cut(std::string(limit, 'x')) == 0);
    CHECK(first_cut(std::string(limit - 1, 'x') + "\n") == limit);
    CHECK(first_cut(std::string(limit + 1, 'x')) == limit);
    CHECK(first_cut(std::string(limit, 'x') + "\n") == limit + 1); // in two stretches
    CHECK(first_cut(std::string(limit - 9, 'x') + " " + std::string(100, 'x')) == limit - 9);
    CHECK(first_cut(std::string(limit / 2, 'x') + " " + std::string(limit, 'x')) == limit); // a space far before it
    CHECK(first_cut(std::string(limit - 2, 'x') + "\xE4\xB8\xAD\xE4\xB8\xAD") == limit - 2);
    CHECK(first_cut(std::string(limit + 8, '\x80')) == limit);
    CHECK(first_cut(std::string(limit + 8, ' ')) == limit);

    // A text that is cut before spaces gets the same ids as when it is encoded in one call.
    std::string line;
    for (int i = 0; i < 40000; ++i) {
        line += i % 7 == 0 ? "stairs " : "the ";
    }
    const std::vector<TokenId> ids = tokenizer.encode(line, true);
    CHECK(decode(tokenizer, ids, true) == line);
    CHECK(std::count(ids.begin(), ids.end(), tokenizer.id("\xE2\x96\x81the")) == 40000 - 40000 / 7 - 1);
    std::mt19937 random(4);
    CHECK(ids_of(stream(tokenizer, fixtures::random_cuts(line, 70000, random), true)) == ids);
}

TEST_CASE("encoding takes time that is linear in the length of a line")
{
    const std::string unit = GENERATE("a"s, " "s, "\xE4\xB8\xAD"s, "\n"s, "ab "s);
    const Tokenizer tokenizer(fixtures::model_vocabulary("llama"));
    const auto seconds = [&](size_t bytes) {
        std::string text;
        while (text.size() < bytes)
            text += unit;
        const std::clock_t start = std::clock(); // processor time excludes other programs
        const std::vector<TokenId> ids = tokenizer.encode(text, true);
        const std::clock_t end = std::clock();
        CHECK(ids.size() > bytes / 16);
        return static_cast<double>(end - start) / CLOCKS_PER_SEC;
    };
    seconds(50'000);
    const double small = std::min(seconds(200'000), seconds(200'000));
    const double large = seconds(2'000'000);
    INFO("0.2 MB: " << small << " s, 2 MB: " << large << " s");
    CHECK(large < 30 * small);
}

TEST_CASE("any bytes can be encoded")
{
    const std::string model = GENERATE("palimpsest", "unigram");
    const Tokenizer tokenizer(fixtures::model_vocabulary(model));
    std::mt19937 random(6);
    for (int round = 0; round < 200; ++round) {
        std::string noise;
        for (unsigned size = random() % 300; size > 0; --size)
            noise += static_cast<char>(random());
        std::vector<EncodedToken> tokens;
        CHECK(tokenizer.encode_prefix(noise, true, true, 0, tokens) == noise.size());
        uint64_t at = 0;
        for (const EncodedToken& token : tokens) {
            REQUIRE(token.begin == at);
            at = token.end;
        }
        CHECK(at == noise.size());
    }
}
