#include "engine/text/document_encoder.h"

#include "engine/text/unicode/utf8_cleaner.h"
#include "tests/support/catch.h"
#include "tests/unit/text/fixtures.h"

using namespace palimpsest;
using namespace palimpsest::engine;

namespace {

std::vector<EncodedToken> encode(const Tokenizer& tokenizer, const std::vector<std::string_view>& pieces,
                                 bool first_piece)
{
    std::vector<EncodedToken> tokens;
    DocumentEncoder encoder(tokenizer, first_piece);
    for (std::string_view piece : pieces)
        encoder.push(piece, tokens);
    encoder.finish(tokens);
    return tokens;
}

std::string document()
{
    std::string text =
        "\xE2\x80\x8B\xE2\x80\x9CTitle\xE2\x80\x9D\n\nby  nobody\n\n"; // begins with a removed character
    for (const auto& pair : nlohmann::json::parse(fixtures::read("normalizer.json")))
        text += pair["text"].get<std::string>() + "\n";
    return text + fixtures::read("sample.txt") + " .\xE2\x80\x8B"; // ends with another one
}

} // namespace

TEST_CASE("encoding a document in parts gives the ids of its whole normalised text")
{
    const Tokenizer tokenizer(fixtures::default_vocabulary());
    const std::string text = document();
    const bool first_piece = GENERATE(true, false);
    const std::vector<TokenId> expected = tokenizer.encode(normalize("books-1", text), first_piece);
    std::mt19937 random(1);
    std::vector<EncodedToken> whole = encode(tokenizer, {text}, first_piece);
    for (size_t longest : {1, 3, 64, 4096}) {
        const std::vector<EncodedToken> tokens =
            encode(tokenizer, fixtures::random_cuts(text, longest, random), first_piece);
        REQUIRE(tokens.size() == expected.size());
        for (size_t i = 0; i < tokens.size(); ++i) {
            REQUIRE(tokens[i].id == expected[i]);
            REQUIRE(tokens[i].begin == whole[i].begin);
            REQUIRE(tokens[i].end == whole[i].end);
        }
    }
}

TEST_CASE("source ranges cover the document in order, and each maps to its token")
{
    const Tokenizer tokenizer(fixtures::default_vocabulary());
    const std::string text = document();
    const std::vector<EncodedToken> tokens = encode(tokenizer, {text}, true);
    uint64_t at = 0;
    for (const EncodedToken& token : tokens) {
        REQUIRE(token.begin == at);
        REQUIRE(token.end >= at);
        at = token.end;
    }
    CHECK(at == text.size());

    const std::string curly = "He said \xE2\x80\x98now\xE2\x80\x99 \xE2\x80\x94 and left\xE2\x80\xA6 the stairs";
    std::string seen;
    for (const EncodedToken& token : encode(tokenizer, {curly}, false)) {
        const std::string source = curly.substr(token.begin, token.end - token.begin);
        // Pieces of a replaced character share its bytes: the first piece has all of them.
        if (!source.empty() && source.find('\xE2') == std::string::npos)
            CHECK(tokenizer.surface(token.id) == source);
        seen += source;
    }
    CHECK(seen == curly);
}

TEST_CASE("a document that is empty, or empty when normalised, has no tokens")
{
    const Tokenizer tokenizer(fixtures::default_vocabulary());
    CHECK(encode(tokenizer, {}, true).empty());
    CHECK(encode(tokenizer, {""}, true).empty());
    CHECK(encode(tokenizer, {"\xE2\x80\x8B"}, true).empty());
}

TEST_CASE("tokens are returned while the text arrives, and little text is held back")
{
    const Tokenizer tokenizer(fixtures::default_vocabulary());
    std::vector<EncodedToken> tokens;
    DocumentEncoder encoder(tokenizer, true);
    for (int i = 0; i < 40; ++i) {
        const uint64_t before = encoder.source_bytes();
        encoder.push(std::string(10000, i % 2 ? 'x' : 'y') + "\xE2\x80\x99", tokens);
        const uint64_t done = tokens.empty() ? 0 : tokens.back().end;
        CHECK(done + Tokenizer::longest_stretch + 20000 > before); // one line without an end
    }
    encoder.finish(tokens);
    CHECK(tokens.back().end == encoder.source_bytes());
}

TEST_CASE("consecutive unknown characters are one token, also across lines")
{
    const Tokenizer tokenizer(fixtures::model_vocabulary("unigram"));
    const std::string text = "the\n\n\n\xE4\xB8\xAD\n\n\xE6\x96\x87 stairs";
    const std::vector<TokenId> expected = tokenizer.encode(text, true);
    std::mt19937 random(8);
    for (int round = 0; round < 20; ++round) {
        std::vector<TokenId> ids;
        for (const EncodedToken& token : encode(tokenizer, fixtures::random_cuts(text, 4, random), true))
            ids.push_back(token.id);
        CHECK(ids == expected);
    }
    CHECK(std::count(expected.begin(), expected.end(), 0) == 1);
}
