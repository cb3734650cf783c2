#include "engine/text/sentencepiece_model.h"

#include "engine/text/tokenizer.h"
#include "kernels/base/error.h"
#include "tests/support/catch.h"
#include "tests/unit/text/fixtures.h"

using namespace palimpsest;
using namespace palimpsest::engine;

namespace {

Vocabulary of_bytes(std::string model)
{
    Vocabulary vocabulary;
    vocabulary.kind = Vocabulary::Kind::SpmModel;
    vocabulary.model = std::move(model);
    return vocabulary;
}

// Appends a field to the serialized model, which overrides or adds to what the model has.
std::string with(std::string model, uint8_t message, std::string field)
{
    model += static_cast<char>(message << 3 | 2);
    model += static_cast<char>(field.size());
    return model + field;
}

void check_refused(const std::string& model, const std::string& why)
{
    INFO(why);
    try {
        check_sentencepiece_model(model);
        FAIL("accepted");
    } catch (const Error& error) {
        CHECK(error.code() == ErrorCode::ModelG13);
        CHECK_THAT(error.what(), Catch::Contains(why));
    }
}

} // namespace

TEST_CASE("dummy prefix and byte fallback are read from a model")
{
    const std::string model = fixtures::read("palimpsest.model");
    CHECK(check_sentencepiece_model(model).add_dummy_prefix);
    CHECK(check_sentencepiece_model(model).byte_fallback);
    CHECK_FALSE(check_sentencepiece_model(without_dummy_prefix(model)).add_dummy_prefix);
    CHECK_FALSE(check_sentencepiece_model(fixtures::read("unigram.model")).byte_fallback);

    Vocabulary vocabulary = fixtures::piece_vocabulary("llama");
    CHECK(check_sentencepiece_model(sentencepiece_model(vocabulary)).byte_fallback);
    CHECK(check_sentencepiece_model(sentencepiece_model(vocabulary)).add_dummy_prefix);
    vocabulary.add_space_prefix = false;
    CHECK_FALSE(check_sentencepiece_model(sentencepiece_model(vocabulary)).add_dummy_prefix);
}

TEST_CASE("models that change text are refused by name")
{
    const std::string model = fixtures::read("palimpsest.model");
    using namespace std::string_literals;
    check_refused(with(model, 3, "\x12\x01x"s), "character map");
    check_refused(with(model, 5, "\x12\x01x"s), "character map");
    check_refused(with(model, 3, "\x20\x01"s), "removes repeated spaces");
    check_refused(with(model, 3, "\x28\x00"s), "spaces before words");
    check_refused(with(model, 2, "\xC0\x01\x01"s), "spaces before words");
    check_refused(with(model, 2, "\x18\x04"s), "type is 4");
    check_refused(with(model, 1, "\x0A\x01\xFF"s), "not UTF-8");
    check_refused(with(model, 1, "\x0A\x03<s>"s), "occurs twice");
    check_refused(with(model, 1, "\x0A\x02zz\x18\x09"s), "type 9");
    check_refused(with(model, 1, "\x0A\x02zz\x18\x02"s), "2 pieces for unknown");
    check_refused(with(model, 1, "\x0A\x02zz\x18\x06"s), "spelled zz");
    check_refused(with(model, 1, ""s), "has 0 bytes");
    check_refused(with(model, 1, "\x0A\x02zz\x15\0\0\x80\x7F"s), "not finite");
    check_refused("", "no pieces");
}

TEST_CASE("a damaged model is an error, never a crash")
{
    const std::string model = fixtures::read("unigram.model");
    std::mt19937 random(5);
    int refused = 0;
    for (int round = 0; round < 600; ++round) {
        std::string bytes = model;
        if (round % 2 == 0)
            bytes.resize(random() % bytes.size());
        else
            bytes[random() % bytes.size()] ^= static_cast<char>(1 + random() % 255);
        try {
            Tokenizer tokenizer(of_bytes(bytes));
            tokenizer.encode("The lighthouse \xC3\xA9\n", true);
        } catch (const Error&) {
            ++refused;
        }
    }
    CHECK(refused > 300);
}

TEST_CASE("a vocabulary that contradicts itself is refused")
{
    Vocabulary vocabulary = fixtures::piece_vocabulary("llama");
    vocabulary.scores.pop_back();
    CHECK_THROWS_AS(sentencepiece_model(vocabulary), Error);
    vocabulary = fixtures::piece_vocabulary("llama");
    vocabulary.eos = 100000;
    CHECK_THROWS_AS(sentencepiece_model(vocabulary), Error);
    vocabulary = fixtures::piece_vocabulary("llama");
    vocabulary.types[3] = 1; // one byte piece is missing
    CHECK_THROWS_AS(Tokenizer(vocabulary), Error);
}

TEST_CASE("text is encoded to user-defined pieces that are spelled with spaces")
{
    Vocabulary vocabulary = fixtures::piece_vocabulary("llama");
    const auto spaces = static_cast<TokenId>(vocabulary.pieces.size());
    vocabulary.pieces.push_back("   ");
    vocabulary.scores.push_back(-1000);
    vocabulary.types.push_back(4);
    vocabulary.add_space_prefix = false;
    const Tokenizer tokenizer(vocabulary);
    const auto ids = tokenizer.encode("a   b", true);
    CHECK(std::count(ids.begin(), ids.end(), spaces) == 1);
    CHECK(tokenizer.surface(spaces) == "   ");

    // Another piece has the escaped spelling already: both keep their spellings.
    vocabulary.pieces.push_back("\xE2\x96\x81\xE2\x96\x81\xE2\x96\x81");
    vocabulary.scores.push_back(-5);
    vocabulary.types.push_back(1);
    CHECK(Tokenizer(vocabulary).size() == spaces + 2);
}
