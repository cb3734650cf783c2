// The WordPiece tokenizer compared with that of the tokenizers library, and its file, tokenizer.json, accepted and
// refused (docs/validation.md, E3).
#include "engine/encoder/word_piece.h"

#include "engine/encoder/word_piece_file.h"
#include "engine/text/unicode/utf8_repair.h"
#include "tests/support/catch.h"
#include "tests/unit/encoder/encoder_fixture.h"

using namespace palimpsest;
using namespace palimpsest::engine;
using namespace palimpsest::test;
using nlohmann::json;

namespace {

constexpr uint64_t fixture_rows = 397;
constexpr int32_t fixture_longest = 48;

WordPiece fixture_tokenizer()
{
    return WordPiece(read_word_piece_file(read_file(encoder_fixture() / "tokenizer.json"), fixture_rows,
                                          Refusal("tokenizer.json")));
}

WordPiece small_tokenizer(BertNormalization normalization = {})
{
    WordPieceVocabulary v;
    v.starts = {{"lamp", 3}, {"l", 4}, {"a", 5}, {"\u00e9", 6}, {"A", 7}, {"i\u0307", 8}, {"\u4e2d\u6587", 9}};
    v.continuations = {{"lamp", 13}, {"amp", 14}, {"a", 15}};
    v.begin = 0, v.end = 1, v.unknown = 2;
    v.normalization = normalization;
    return WordPiece(std::move(v));
}

using Ids = std::vector<TokenId>;

Refused refusal_of(const std::string& text)
{
    return refused([&] { read_word_piece_file(text, fixture_rows, Refusal("tokenizer.json")); });
}

Refused refusal_after(const std::function<void(json&)>& change)
{
    json content = json::parse(read_file(encoder_fixture() / "tokenizer.json"));
    change(content);
    return refusal_of(content.dump());
}

} // namespace

TEST_CASE("texts get the ids of the tokenizers library")
{
    const WordPiece tokenizer = fixture_tokenizer();
    for (const EncoderCase& c : encoder_cases()) {
        INFO(c.text);
        CHECK(tokenizer.encode(c.text, fixture_longest) == c.ids);
    }
}

TEST_CASE("invalid UTF-8 is encoded like the text in which U+FFFD replaces it")
{
    const WordPiece tokenizer = fixture_tokenizer();
    for (const std::string_view text : {"\xFF lamp", "la\xC3mp", "lamp \xE4\xB8", "\xED\xA0\x80stairs",
                                        "\xF4\x90\x80\x80", "a\xC0\xAF\x62", "\xE4\xB8\xADlamp\xF0\x9F"}) {
        const std::string repaired = repair_utf8(text, true).text;
        INFO(repaired);
        CHECK(tokenizer.encode(text, fixture_longest) == tokenizer.encode(repaired, fixture_longest));
    }
}

TEST_CASE("a text is cut to the longest number of tokens, and the rest is not read")
{
    const WordPiece tokenizer = small_tokenizer();
    CHECK(tokenizer.encode("lamp a lamp", 5) == Ids{0, 3, 5, 3, 1});
    CHECK(tokenizer.encode("lamp a lamp", 4) == Ids{0, 3, 5, 1});
    CHECK(tokenizer.encode("lamplamplamp", 4) == Ids{0, 3, 13, 1}); // within a word
    CHECK(tokenizer.encode("lamp", 2) == Ids{0, 1});
    CHECK(tokenizer.encode("", 2) == Ids{0, 1});
    const std::string huge = "a " + std::string(size_t{50} << 20, 'a'); // the second word is too long
    CHECK(tokenizer.encode(huge, 48) == Ids{0, 5, 2, 1});
    std::string repeated = "a";
    while (repeated.size() < size_t{50} << 20)
        repeated += " " + repeated;
    CHECK(tokenizer.encode(repeated, 4) == Ids{0, 5, 5, 1});
}

TEST_CASE("a word that the pieces do not spell is one unknown token")
{
    const WordPiece tokenizer = small_tokenizer();
    CHECK(tokenizer.encode("lamplamq a", 48) == Ids{0, 2, 5, 1});
    CHECK(tokenizer.encode("lamp" + std::string(96, 'a'), 200).size() == 99); // 100 characters
    CHECK(tokenizer.encode("lamp" + std::string(97, 'a'), 200) == Ids{0, 2, 1});
}

TEST_CASE("the settings of the normalizer are followed")
{
    CHECK(small_tokenizer().encode("A \u00c9", 48) == Ids{0, 5, 2, 1});
    CHECK(small_tokenizer({.strip_accents = false}).encode("\u00c9 \u0130", 48) == Ids{0, 6, 8, 1});
    CHECK(small_tokenizer({.strip_accents = false, .lowercase = false}).encode("A", 48) == Ids{0, 7, 1});
    CHECK(small_tokenizer().encode("\u4e2d\u6587", 48) == Ids{0, 2, 2, 1});
    CHECK(small_tokenizer({.spaces_ideographs = false}).encode("\u4e2d\u6587", 48) == Ids{0, 9, 1});
    CHECK(small_tokenizer().encode("la\u200bmp", 48) == Ids{0, 3, 1});
    CHECK(small_tokenizer({.clean_text = false}).encode("la\u200bmp", 48) == Ids{0, 2, 1});
}

TEST_CASE("text that spells a special token stays text")
{
    const Ids ids = fixture_tokenizer().encode("[CLS] [SEP] [PAD]", fixture_longest);
    CHECK(std::count(ids.begin(), ids.end(), 2) == 1); // [CLS]
    CHECK(std::count(ids.begin(), ids.end(), 3) == 1); // [SEP]
    json content = json::parse(read_file(encoder_fixture() / "tokenizer.json"));
    content["model"]["vocab"]["lamp"] = 1; // a special token without brackets
    content["model"]["vocab"].erase("[UNK]");
    content["model"]["unk_token"] = "lamp";
    const WordPiece tokenizer(read_word_piece_file(content.dump(), fixture_rows, Refusal("tokenizer.json")));
    CHECK(tokenizer.encode("lamp", 48) != Ids{2, 1, 3});
}

TEST_CASE("a tokenizer.json of another kind is refused by name")
{
    const auto check = [](const Refused& refusal, const std::string& sentence) {
        CHECK(refusal.message == "tokenizer.json: " + sentence);
    };
    const std::string remedy = "; use an encoder with the uncased or cased tokenizer of BERT [PAL-MODEL-T1]";
    check(refusal_after([](json& j) { j["model"]["type"] = "BPE"; }),
          "'model' has type 'BPE', an encoder needs 'WordPiece'" + remedy);
    check(refusal_after([](json& j) { j["normalizer"]["type"] = "NFC"; }),
          "'normalizer' has type 'NFC', an encoder needs 'BertNormalizer'" + remedy);
    check(refusal_after([](json& j) { j["pre_tokenizer"]["type"] = "ByteLevel"; }),
          "'pre_tokenizer' has type 'ByteLevel', an encoder needs 'BertPreTokenizer'" + remedy);
    check(refusal_after([](json& j) { j["post_processor"]["type"] = "RobertaProcessing"; }),
          "'post_processor' has type 'RobertaProcessing', an encoder needs 'TemplateProcessing'" + remedy);
    check(refusal_after([](json& j) { j["post_processor"]["single"].erase(2); }),
          "the post-processor does not put one token before a text and one after it" + remedy);
    check(refusal_after([](json& j) { j["model"]["continuing_subword_prefix"] = "@@"; }),
          "pieces inside of words begin with '@@', an encoder needs '##'" + remedy);
    check(refusal_after([](json& j) {
              j["added_tokens"].push_back({{"id", 20}, {"content", "lamp"}, {"special", false}});
          }),
          "the added token 'lamp', which is not a special one, is not supported" + remedy);
}

TEST_CASE("a damaged or hostile tokenizer.json is refused")
{
    const auto check = [](const Refused& refusal, const std::string& code, const std::string& part) {
        INFO(refusal.message);
        CHECK(refusal.code == "PAL-MODEL-" + code);
        CHECK(refusal.says(part));
    };
    check(refusal_after([](json& j) { j["model"]["vocab"].erase("[UNK]"); }), "T7",
          "the special token '[UNK]' is not in the vocabulary");
    check(refusal_after([](json& j) { j["model"]["vocab"].erase("[SEP]"); }), "T7", "'[SEP]'");
    check(refusal_after([](json& j) { j["model"]["vocab"]["again"] = 5; }), "T2", "both have id 5");
    check(refusal_after([](json& j) { j["model"]["vocab"]["beyond"] = fixture_rows; }), "T2",
          "the token 'beyond' has id 397 but the embedding has 397 rows");
    check(refusal_after([](json& j) { j["model"]["vocab"]["beyond"] = uint64_t{1} << 63; }), "T2",
          "has id 9223372");
    check(refusal_after([](json& j) { j["model"]["vocab"]["below"] = -1; }), "T2", "is not a number");
    check(refusal_after([](json& j) { j["model"]["vocab"]["half"] = 0.5; }), "T2", "is not a number");
    check(refusal_after([](json& j) { j["model"]["vocab"][""] = fixture_rows - 1; }), "T3", "has 0 bytes");
    check(refusal_after([](json& j) { j["model"]["vocab"][std::string(5000, 'a')] = fixture_rows - 1; }), "T3",
          "has 5000 bytes");
    check(refusal_after([](json& j) { j["model"]["vocab"] = json::array(); }), "T1", "no object 'vocab'");
    check(refusal_after([](json& j) { j["model"]["max_input_chars_per_word"] = 1000000; }), "T1",
          "'max_input_chars_per_word' is 1000000, expected 1 to 1000");
    check(refusal_after([](json& j) { j["model"]["max_input_chars_per_word"] = 0; }), "T1", "is 0");
    check(refusal_after([](json& j) { j["normalizer"]["lowercase"] = "yes"; }), "T1", "is not true or false");
    check(refusal_after([](json& j) { j["post_processor"]["single"] = "[CLS]"; }), "T1", "no list 'single'");
    check(refusal_after([](json& j) { j["post_processor"]["single"][0] = json::object(); }), "T1", "unknown part");
    check(refusal_after([](json& j) { j["added_tokens"] = 7; }), "T7", "is not a list");
    check(refusal_after([](json& j) { j.erase("model"); }), "T1", "'model' is missing");
    check(refusal_of("[]"), "T1", "it is not a JSON object");
    check(refusal_of(R"({"model": {"vocab": {"a": 1, "a": 2}}})"), "T1", "the key 'a' comes twice");
    check(refusal_of(std::string(1000, '[')), "T1", "nested deeper than 32 levels");
    std::string many = R"({"model": [0)";
    for (int i = 0; i < 1 << 22; ++i)
        many += ",0";
    check(refusal_of(many + "]}"), "T1", "more than 4194304 values");
}
