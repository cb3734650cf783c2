#include "engine/text/detokenizer.h"

#include "tests/support/catch.h"
#include "tests/unit/text/fixtures.h"

using namespace palimpsest;
using namespace palimpsest::engine;

namespace {

TokenId byte_piece(const Tokenizer& tokenizer, int value)
{
    char spelled[8];
    std::snprintf(spelled, sizeof spelled, "<0x%02X>", static_cast<unsigned>(value));
    return tokenizer.id(spelled);
}

} // namespace

TEST_CASE("a character is returned when all of its bytes have arrived")
{
    const Tokenizer tokenizer(fixtures::model_vocabulary("palimpsest"));
    IncrementalDetokenizer detokenizer(tokenizer, false);
    CHECK(detokenizer.push(byte_piece(tokenizer, 0xF0)).empty());
    CHECK(detokenizer.push(byte_piece(tokenizer, 0x9F)).empty());
    CHECK(detokenizer.push(byte_piece(tokenizer, 0x98)).empty());
    CHECK(detokenizer.push(byte_piece(tokenizer, 0x80)) == "\xF0\x9F\x98\x80");
    CHECK(detokenizer.push(tokenizer.id("\xE2\x96\x81the")) == " the");
    CHECK(detokenizer.push(6) == "\n");
    CHECK(detokenizer.finish().empty());
}

TEST_CASE("incomplete and invalid bytes become U+FFFD")
{
    const Tokenizer tokenizer(fixtures::model_vocabulary("palimpsest"));
    IncrementalDetokenizer detokenizer(tokenizer, false);
    CHECK(detokenizer.push(byte_piece(tokenizer, 0xE4)).empty());
    CHECK(detokenizer.push(tokenizer.id("\xE2\x96\x81the")) == "\xEF\xBF\xBD the");
    CHECK(detokenizer.push(byte_piece(tokenizer, 0x80)) == "\xEF\xBF\xBD");
    CHECK(detokenizer.push(byte_piece(tokenizer, 0xE4)).empty());
    CHECK(detokenizer.push(byte_piece(tokenizer, 0xB8)).empty());
    CHECK(detokenizer.finish() == "\xEF\xBF\xBD");
    CHECK(detokenizer.finish().empty());
}

TEST_CASE("control pieces give no text, the unknown piece gives U+2047")
{
    const Tokenizer tokenizer(fixtures::model_vocabulary("palimpsest"));
    IncrementalDetokenizer detokenizer(tokenizer, true);
    for (TokenId id : {1, 3, 4, 5, 2})
        CHECK(detokenizer.push(id).empty());
    CHECK(detokenizer.push(0) == "\xE2\x81\x87 "); // its leading space is dropped at the start of a stream
}

TEST_CASE("only the first space of a stream is the dummy prefix")
{
    const Tokenizer tokenizer(fixtures::model_vocabulary("palimpsest"));
    const TokenId the = tokenizer.id("\xE2\x96\x81the");
    IncrementalDetokenizer start(tokenizer, true);
    CHECK(start.push(1).empty());
    CHECK(start.push(the) == "the");
    CHECK(start.push(the) == " the");
    IncrementalDetokenizer later(tokenizer, false);
    CHECK(later.push(the) == " the");

    Vocabulary vocabulary = fixtures::piece_vocabulary("palimpsest");
    vocabulary.add_space_prefix = false;
    const Tokenizer without(vocabulary);
    IncrementalDetokenizer kept(without, true);
    CHECK(kept.push(the) == " the");
}

TEST_CASE("texts decode as sentencepiece decodes them")
{
    const std::string model = GENERATE("palimpsest", "llama", "unigram");
    const Tokenizer tokenizer(fixtures::model_vocabulary(model));
    for (const auto& c : fixtures::encode_cases(model)) {
        IncrementalDetokenizer detokenizer(tokenizer, true);
        std::string text;
        for (TokenId id : c.first)
            text += detokenizer.push(id);
        INFO(c.text);
        CHECK(text + detokenizer.finish() == c.decoded);
    }
}
