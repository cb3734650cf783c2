// docs/validation.md, T1, T2, T3, T6, T7, T8 and T9, for tokenizer.model and tokenizer_config.json.

#include <limits>

#include "engine/model/files/spm_model_check.h"
#include "tests/support/catch.h"
#include "tests/support/fixtures/refused.h"
#include "tests/support/fixtures/tiny_model.h"

using namespace palimpsest;
using namespace palimpsest::engine;
using namespace palimpsest::test;

namespace {

SpmFacts spm(const Bytes& model)
{
    return check_spm_model(model.text(), Refusal("tokenizer.model"));
}

void check(const Refused& refusal, const std::string& code, const std::string& part)
{
    INFO(refusal.message);
    CHECK(refusal.code == "PAL-MODEL-" + code);
    CHECK(refusal.says(part));
}

void check(const Bytes& model, const std::string& code, const std::string& part)
{
    check(refused([&] { spm(model); }), code, part);
}

void check(const TinyFolder& folder, const std::string& code, const std::string& part)
{
    check(refused([&] { assemble_hf_model(folder.files()); }), code, part);
}

TinyFolder with_tokenizer()
{
    TinyFolder folder;
    folder.tokenizer_model = tiny_spm_model();
    return folder;
}

Vocabulary vocabulary(const TinyFolder& folder)
{
    return assemble_hf_model(folder.files()).vocabulary;
}

// A character map of 256 units with the given root and last unit, followed by `text`.
Bytes character_map(uint32_t root, uint32_t value_unit, const std::string& text)
{
    Bytes blob = Bytes().number(uint32_t{1024}).number(root);
    blob.pad_to(4 + 255 * 4); // units of 0, which lead to themselves
    return blob.number(value_unit).append(text);
}

Bytes with_map(const Bytes& blob, uint32_t spec = 3)
{
    return tiny_spm_model().append(protobuf_bytes(spec, protobuf_bytes(2, blob.text()).text()));
}

} // namespace

TEST_CASE("a valid tokenizer.model is accepted and names its special pieces")
{
    const SpmFacts facts = spm(tiny_spm_model());
    CHECK(facts.ids.size() == 20);
    CHECK(facts.unknown == 0);
    CHECK(facts.bos == 1);
    CHECK(facts.eos == 2);
    const Bytes trainer = protobuf_bytes(46, "<begin>").append(protobuf_bytes(47, "</s>"));
    const SpmFacts renamed =
        spm(tiny_spm_model().append(spm_piece("<begin>", 0.0f, 3)).append(protobuf_bytes(2, trainer.text())));
    CHECK(renamed.bos == 20);
}

TEST_CASE("T1 limits the size of the file")
{
    check(refused([] { check_spm_model(std::string((64 << 20) + 1, '\0'), Refusal("tokenizer.model")); }), "T1",
          "67108865 bytes");
}

TEST_CASE("T2 refuses vocabularies that are empty, too large or have duplicates")
{
    check(Bytes(), "T2", "it has no pieces");
    check(tiny_spm_model().append(spm_piece("w3", 0.0f, 1)), "T2",
          "pieces 3 and 20 of the vocabulary are both 'w3'");
    auto folder = with_tokenizer();
    folder.tokenizer_model = tiny_spm_model(21);
    check(folder, "T2", "the vocabulary has 21 pieces but the embedding has 20 rows");
    folder.tokenizer_model = tiny_spm_model(18); // the embedding may be padded
    CHECK(vocabulary(folder).kind == Vocabulary::Kind::SpmModel);
}

TEST_CASE("T3 checks pieces")
{
    check(tiny_spm_model().append(spm_piece("", 0.0f, 1)), "T3", "piece 20 of the vocabulary has 0 bytes");
    check(tiny_spm_model().append(spm_piece(std::string(4097, 'x'), 0.0f, 1)), "T3", "has 4097 bytes");
    check(tiny_spm_model().append(spm_piece("\xC0\x80", 0.0f, 1)), "T3", "is not valid UTF-8");
    check(tiny_spm_model().append(spm_piece("<0xff>", 0.0f, 6)), "T3", "is not spelled like <0x0A>");
    check(tiny_spm_model().append(spm_piece("x", 0.0f, 7)), "T3", "the type of piece 20 is 7");
    check(tiny_spm_model().append(spm_piece("x", 0.0f, UINT64_MAX)), "T3", "the type of piece 20 is -1");
    CHECK(spm(tiny_spm_model().append(spm_piece(std::string_view("\0", 1), 0.0f, 1))).ids.size() == 21);
}

TEST_CASE("T6 checks the character map before sentencepiece reads it")
{
    const uint32_t leaf = (1u << 8) | (255u << 10); // at the root: offset 255, has a value
    const std::string text("x\0", 2);
    CHECK(spm(with_map(character_map(leaf, 0x80000000u, text))).ids.size() == 20);
    CHECK(spm(with_map(Bytes())).ids.size() == 20);
    check(with_map(Bytes("abc")), "T6", "is too short");
    check(with_map(Bytes().number(uint32_t{8}).append("12345678")), "T6", "claims a table of 8 of 8 bytes");
    check(with_map(Bytes().number(uint32_t{3}).append("12345678")), "T6", "claims a table of 3 of 8 bytes");
    check(with_map(Bytes().number(UINT32_MAX).append("12345678")), "T6", "claims a table of 4294967295");
    check(with_map(Bytes().number(uint32_t{0}).append("12345678")), "T6", "claims a table of 0");
    check(with_map(Bytes().number(uint32_t{4}).number(uint32_t{0}).append(text)), "T6",
          "leads outside of its table at node 0");
    check(with_map(character_map(256u << 10, 0, text)), "T6", "leads outside of its table at node 0");
    check(with_map(character_map((1u << 9) | (1u << 10), 0, text)), "T6", "leads outside of its table at node 0");
    check(with_map(character_map(leaf, 0x80000002u, text)), "T6", "leads outside of its text at node 0");
    check(with_map(character_map(leaf, 0x80000000u, "xy")), "T6", "does not end with a NUL");
    check(with_map(Bytes("abc"), 5), "T6", "is too short");
}

TEST_CASE("T8 refuses scores that are not numbers")
{
    check(tiny_spm_model().append(spm_piece("x", std::numeric_limits<float>::infinity(), 1)), "T8",
          "the score of piece 20");
}

TEST_CASE("T9 refuses protobuf fields that are truncated or of the wrong type")
{
    const auto after = [](const Bytes& more) { return tiny_spm_model().append(more); };
    check(after(Bytes("\x0A")), "T9", "a number is cut off");
    check(after(Bytes("\x0A\x05x")), "T9", "a field claims 5 bytes but 1 follow");
    check(after(Bytes("\x0A\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01x")), "T9", "claims 18446744073709551615 bytes");
    check(after(Bytes("\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x02")), "T9", "more than 64 bits");
    check(after(Bytes("\x78\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01")), "T9", "more than 64 bits");
    check(after(Bytes("\x0B")), "T9", "a group");
    check(after(Bytes("\x7E")), "T9", "a group or an unknown kind of field");
    check(after(Bytes("\x02").append(Bytes().pad_to(1))), "T9", "field number 0 does not exist");
    check(after(Bytes("\x7D\x01")), "T9", "a number is cut off");
    check(after(Bytes("\x08\x01")), "T9", "field 1 has the wrong type");
    check(after(protobuf_bytes(1, protobuf_bytes(2, "ab").text())), "T9", "field 2 has the wrong type");
    check(after(protobuf_bytes(1, protobuf_bytes(3, "ab").text())), "T9", "field 3 has the wrong type");
    check(after(protobuf_bytes(1, protobuf_varint(1, 4).text())), "T9", "field 1 has the wrong type");
    // Unknown fields of every kind are skipped.
    Bytes unknown = protobuf_varint(100, 7);
    unknown.append(protobuf_bytes(101, "x"))
        .append(Bytes("\x7D"))
        .number(uint32_t{1})
        .append(Bytes("\x79"))
        .number(uint64_t{1});
    CHECK(spm(after(unknown)).ids.size() == 20);
}

TEST_CASE("special tokens come from the most specific file that names them")
{
    auto folder = with_tokenizer();
    auto v = vocabulary(folder);
    CHECK(v.kind == Vocabulary::Kind::SpmModel);
    CHECK(v.model == tiny_spm_model().text());
    CHECK(v.bos == 1);
    CHECK(v.eos == 2);
    CHECK(v.unknown == 0);
    CHECK(v.add_bos);

    folder.tokenizer_config = R"({"bos_token":"w5","eos_token":{"content":"<|end|>"},"add_bos_token":false,
"added_tokens_decoder":{"19":{"content":"<|end|>"}},"chat_template":"{{ x }}"})";
    v = vocabulary(folder);
    CHECK(v.bos == 5);
    CHECK(v.eos == 19);
    CHECK_FALSE(v.add_bos);
    CHECK(v.chat_template == "{{ x }}");

    folder.chat_template = "from a file";
    folder.tokenizer_config =
        R"({"bos_token":null,"eos_token":"absent","chat_template":[{"name":"tool","template":"no"},
{"name":"default","template":"yes"}]})";
    CHECK(vocabulary(folder).chat_template == "from a file");
    folder.chat_template.clear();
    CHECK(vocabulary(folder).chat_template == "yes");
    CHECK(vocabulary(folder).eos == 2);
    folder.tokenizer_config = R"({"chat_template":[{"name":"tool","template":"no"}]})";
    CHECK(vocabulary(folder).chat_template.empty());

    folder.generation_config = R"({"eos_token_id":[2, 7]})";
    CHECK(vocabulary(folder).other_ends == std::vector<TokenId>{2, 7});
    folder.generation_config = R"({"eos_token_id":[20, 7, -1]})"; // 20 and -1 are not in the vocabulary
    std::vector<Text> warnings;
    HfConfig config;
    config.model.vocabulary = 20;
    CHECK(hf_vocabulary(folder.files().tokenizer, config, warnings).other_ends == std::vector<TokenId>{7});
    REQUIRE(warnings.size() == 2);
    CHECK(warnings[0].english().find("the end token 20 is none of the 20 tokens") != std::string::npos);
    folder.generation_config = R"({"eos_token_id":"</s>"})";
    check(refused([&] { vocabulary(folder); }), "T7", "'eos_token_id' is neither an id nor a list of ids");

    TinyFolder without;
    without.tokenizer_config = R"({"add_bos_token":true})";
    CHECK(vocabulary(without).kind == Vocabulary::Kind::None);
    CHECK(vocabulary(without).add_bos); // config.json names the id
}

TEST_CASE("T1 and T7 check tokenizer_config.json")
{
    auto folder = with_tokenizer();
    const auto with = [&](const std::string& text) {
        folder.tokenizer_config = text;
        return folder;
    };
    check(with("{"), "T1", "not valid JSON");
    check(with("[]"), "T1", "not a JSON object");
    check(with(R"({"chat_template":7})"), "T1", "'chat_template' is not a string");
    check(with(R"({"add_bos_token":"yes"})"), "T1", "'add_bos_token' is not true or false");
    check(with(R"({"chat_template":")" + std::string((1 << 20) + 1, 'x') + "\"}"), "T1", "1048577 bytes");
    check(with(R"({"bos_token":7})"), "T7", "'bos_token' is not a token");
    check(with(R"({"added_tokens_decoder":[]})"), "T7", "not an object of at most 65536 tokens");
    for (const char* id : {"20", "-1", "x", "1x", "", "99999999999"})
        check(with("{\"added_tokens_decoder\":{\"" + std::string(id) + "\":{\"content\":\"a\"}}}"), "T7",
              "has no id below 20");
    check(with(R"({"added_tokens_decoder":{"3":{"content":""}}})"), "T7", "the added token '3' is empty");
    check(with(R"({"added_tokens_decoder":{"3":7}})"), "T7", "not a JSON object");
}
