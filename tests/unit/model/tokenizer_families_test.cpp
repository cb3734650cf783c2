// Tokenizers trained in the style of model families (tests/fixtures/text/bpe/make_fixtures.py): ids must equal
// those of the reference libraries, both from tokenizer.json and from a GGUF file with the same vocabulary.

#include <charconv>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "engine/model/files/gguf_vocabulary.h"
#include "engine/model/files/tokenizer_json.h"
#include "engine/text/detokenizer.h"
#include "engine/text/document_encoder.h"
#include "engine/text/unicode/utf8_cleaner.h"
#include "tests/support/catch.h"
#include "tests/support/fixtures/gguf_builder.h"
#include "tests/support/fixtures/refused.h"
#include "tests/support/project_folders.h"
#include "tests/support/test_level.h"

using namespace palimpsest;
using namespace palimpsest::engine;
using namespace palimpsest::test;
using nlohmann::json;

namespace {

const std::string folder = tests::source_file("tests/fixtures/text/bpe/");

std::string read(const std::string& name)
{
    std::ifstream file(folder + name, std::ios::binary);
    REQUIRE(file);
    return {std::istreambuf_iterator<char>(file), {}};
}

const std::vector<std::string>& texts()
{
    static const std::vector<std::string> all = [] {
        std::vector<std::string> out;
        for (const json& entry : json::parse(read("strings.json"))) {
            if (entry.is_string()) {
                out.push_back(entry.get<std::string>());
                continue;
            }
            const auto hex = entry.at("hex").get<std::string>();
            std::string bytes;
            for (size_t i = 0; i + 1 < hex.size(); i += 2) {
                unsigned value = 0;
                std::from_chars(hex.data() + i, hex.data() + i + 2, value, 16);
                bytes += static_cast<char>(value);
            }
            out.push_back(bytes);
        }
        return out;
    }();
    return all;
}

Vocabulary json_vocabulary(const std::string& name)
{
    const std::string text = read(name + ".tokenizer.json");
    return read_tokenizer_json(text, 100000, Refusal("tokenizer.json")).vocabulary;
}

// The vocabulary as a GGUF file stores it.
Vocabulary gguf_of(const json& tokenizer, const std::string& pre)
{
    std::vector<std::string> pieces, merges;
    std::vector<int32_t> types;
    const auto place = [&](const std::string& piece, size_t id, int32_t type) {
        if (pieces.size() <= id) pieces.resize(id + 1), types.resize(id + 1, 5);
        pieces[id] = piece, types[id] = type;
    };
    for (const auto& [piece, id] : tokenizer["model"]["vocab"].items())
        place(piece, id.get<size_t>(), 1);
    for (const json& token : tokenizer["added_tokens"])
        place(token["content"], token["id"], token["special"].get<bool>() ? 3 : 4);
    for (const json& merge : tokenizer["model"]["merges"])
        merges.push_back(merge[0].get<std::string>() + " " + merge[1].get<std::string>());
    GgufBuilder builder;
    builder.set_string("tokenizer.ggml.model", "gpt2");
    builder.set_string("tokenizer.ggml.pre", pre);
    builder.set_strings("tokenizer.ggml.tokens", pieces);
    builder.set_ints("tokenizer.ggml.token_type", types);
    builder.set_strings("tokenizer.ggml.merges", merges);
    const Bytes bytes = builder.build();
    const Refusal refuse("test.gguf");
    const auto file =
        GgufFile::parse({reinterpret_cast<const std::byte*>(bytes.text().data()), bytes.size()}, refuse);
    std::vector<Text> warnings;
    Vocabulary vocabulary = gguf_vocabulary(file, pieces.size(), refuse, warnings);
    CHECK(warnings.empty());
    return vocabulary;
}

std::vector<EncodedToken> encode(const Tokenizer& tokenizer, const std::vector<std::string_view>& pushes)
{
    DocumentEncoder encoder(tokenizer, true);
    std::vector<EncodedToken> tokens;
    for (const std::string_view bytes : pushes)
        encoder.push(bytes, tokens);
    encoder.finish(tokens);
    return tokens;
}

std::string hash_of(const std::vector<EncodedToken>& tokens)
{
    uint64_t hash = 0xcbf29ce484222325;
    for (const EncodedToken& token : tokens)
        for (int shift = 0; shift < 32; shift += 8)
            hash = (hash ^ ((static_cast<uint32_t>(token.id) >> shift) & 0xFF)) * 0x100000001b3;
    char text[17];
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
    return text;
}

void check_ids(const Tokenizer& tokenizer, const std::string& hashes)
{
    const json expected = json::parse(read(hashes + ".hashes.json"));
    REQUIRE(expected.size() == texts().size());
    REQUIRE(texts().size() == 2000);
    for (size_t i = 0; i < texts().size(); ++i) {
        INFO(hashes << ", text " << i << ": " << texts()[i]);
        CHECK(hash_of(encode(tokenizer, {texts()[i]})) == expected[i].get<std::string>());
    }
}

std::string decode(const Tokenizer& tokenizer, const std::vector<EncodedToken>& tokens)
{
    IncrementalDetokenizer detokenizer(tokenizer, true);
    std::string text;
    for (const EncodedToken& token : tokens)
        text += detokenizer.push(token.id);
    return text + detokenizer.finish();
}

const std::vector<std::string> families = {"smollm", "llama3",       "qwen2",       "tekken",
                                           "gpt-4o", "deepseek-llm", "deepseek-v3", "gemma"};

} // namespace

TEST_CASE("tokenizer.json gives the ids of the reference library")
{
    for (const std::string& family : families)
        check_ids(Tokenizer(json_vocabulary(family)), family);
}

TEST_CASE("a GGUF file with the same vocabulary gives the same ids")
{
    for (const char* name : {"smollm", "llama3", "qwen2", "tekken", "gpt-4o", "deepseek-v3"}) {
        const std::string family = name;
        Vocabulary vocabulary =
            gguf_of(json::parse(read(family + ".tokenizer.json")), family == "llama3" ? "llama-bpe" : family);
        CHECK(vocabulary.normalizer.empty()); // a GGUF file does not say that its family uses NFC
        if (family == "qwen2") vocabulary.normalizer = "nfc";
        check_ids(Tokenizer(vocabulary), family);
    }
}

TEST_CASE("the sentencepiece vocabulary of a GGUF file gives the ids of sentencepiece, also for repeated spaces "
          "and line ends")
{
    const json fixture = json::parse(read("gemma.pieces.json"));
    Vocabulary vocabulary;
    vocabulary.kind = Vocabulary::Kind::SpmPieces;
    vocabulary.pieces = fixture["pieces"].get<std::vector<std::string>>();
    vocabulary.scores = fixture["scores"].get<std::vector<float>>();
    vocabulary.types = fixture["types"].get<std::vector<int32_t>>();
    vocabulary.add_space_prefix = false;
    vocabulary.eos = 1, vocabulary.bos = 2, vocabulary.unknown = 3;
    // Some converters write user-defined pieces with plain spaces.
    const bool has_plain_spaces = GENERATE(false, true);
    for (size_t id = 0; id < vocabulary.pieces.size(); ++id)
        if (has_plain_spaces && vocabulary.types[id] == 4 && vocabulary.pieces[id].starts_with("\xE2\x96\x81"))
            vocabulary.pieces[id] = std::string(vocabulary.pieces[id].size() / 3, ' ');
    // Some converters store turn markers as normal or user-defined pieces instead of control pieces.
    const int32_t marker_type = GENERATE(3, 1, 4);
    for (size_t id = 0; id < vocabulary.pieces.size(); ++id)
        if (vocabulary.pieces[id] == "<start_of_turn>" || vocabulary.pieces[id] == "<end_of_turn>")
            vocabulary.types[id] = marker_type;
    const Tokenizer tokenizer(vocabulary);
    CHECK(tokenizer.is_end(tokenizer.id("<end_of_turn>")));
    CHECK(tokenizer.is_control(tokenizer.id("<start_of_turn>")));
    for (const TokenId id : tokenizer.encode("a <start_of_turn>user<end_of_turn>", true))
        CHECK_FALSE(tokenizer.is_control(id));
    check_ids(tokenizer, "gemma-pieces");
}

TEST_CASE("the ids of a document do not depend on how it was cut, and their source ranges leave no gap")
{
    std::string text;
    for (const std::string& part : texts())
        text += part;
    std::mt19937 random(5);
    for (const std::string& family : families) {
        INFO(family);
        const Tokenizer tokenizer(json_vocabulary(family));
        const auto whole = encode(tokenizer, {text});
        uint64_t at = 0;
        for (const EncodedToken& token : whole) {
            REQUIRE(token.begin == at);
            REQUIRE(token.end >= at);
            at = token.end;
        }
        CHECK(at == text.size());
        for (const size_t longest : {7, 300, 20000}) {
            std::vector<std::string_view> pushes;
            for (std::string_view rest = text; !rest.empty(); rest.remove_prefix(pushes.back().size()))
                pushes.push_back(rest.substr(0, 1 + random() % longest));
            CHECK(hash_of(encode(tokenizer, pushes)) == hash_of(whole));
        }
    }
}

TEST_CASE("decoding the ids of a text gives the text")
{
    for (const std::string& family : families) {
        const bool composes = family == "qwen2", marks_spaces = family == "gemma";
        const Tokenizer tokenizer(json_vocabulary(family));
        for (const std::string& raw : texts()) {
            const std::string text = normalize(tokenizer.normalizer(), clean_utf8(raw));
            if (marks_spaces && text.find("\xE2\x96\x81") != std::string::npos) continue; // decodes to a space
            INFO(family << ": " << raw);
            CHECK(decode(tokenizer, encode(tokenizer, {text})) == text);
            if (!composes) CHECK(text == clean_utf8(raw));
        }
    }
}

TEST_CASE("the spelling of a control token is encoded as plain text")
{
    for (const std::string& family : families) {
        const Tokenizer tokenizer(json_vocabulary(family));
        CHECK_FALSE(tokenizer.controls().empty());
        std::string text;
        for (const TokenId id : tokenizer.controls())
            text += tokenizer.piece(id) + " x" + tokenizer.piece(id);
        for (const EncodedToken& token : encode(tokenizer, {text}))
            CHECK_FALSE(tokenizer.is_control(token.id));
    }
}

TEST_CASE("every end token of a family ends an answer, and BOS is added if the file says so")
{
    const Tokenizer llama3(json_vocabulary("llama3"));
    CHECK(llama3.is_end(llama3.id("<|eot_id|>")));
    CHECK(llama3.is_end(llama3.id("<|end_of_text|>")));
    CHECK_FALSE(llama3.is_end(llama3.id("<|begin_of_text|>")));
    CHECK(llama3.adds_bos());
    CHECK(llama3.bos() == llama3.id("<|begin_of_text|>"));
    const Tokenizer qwen2(json_vocabulary("qwen2"));
    CHECK(qwen2.is_end(qwen2.id("<|im_end|>")));
    CHECK_FALSE(qwen2.is_end(qwen2.id("<tool_call>")));
    CHECK_FALSE(qwen2.adds_bos());
}

TEST_CASE("ten megabytes of one character are cut at fixed lengths and take bounded memory")
{
    const std::string unit = GENERATE("a", "1", " ", "\n", "\xE4\xB8\xAD");
    const std::string family = GENERATE("smollm", "llama3", "deepseek-llm", "gemma");
    const Tokenizer tokenizer(json_vocabulary(family));
    const size_t bytes = tests::at_ci_level() ? 1'000'000 : 10'000'000, push = 100'000;
    std::string part;
    while (part.size() < push)
        part += unit;
    DocumentEncoder encoder(tokenizer, true);
    std::vector<EncodedToken> tokens;
    uint64_t count = 0, covered = 0;
    for (size_t done = 0; done < bytes; done += part.size()) {
        encoder.push(part, tokens);
        // The encoder holds back at most two stretches.
        const uint64_t known = tokens.empty() ? covered : tokens.back().end;
        REQUIRE(encoder.source_bytes() - known <= 2 * Tokenizer::longest_stretch);
        count += tokens.size();
        covered = known;
        tokens.clear();
    }
    encoder.finish(tokens);
    CHECK(tokens.back().end == encoder.source_bytes());
    CHECK(count > bytes / 600);
}

TEST_CASE("a GGUF file with an unknown pre-tokenizer opens without tokenizer, and the warning names it")
{
    GgufBuilder builder;
    builder.set_string("tokenizer.ggml.model", "gpt2");
    const auto warning_of = [&] {
        const Bytes bytes = builder.build();
        const Refusal refuse("test.gguf");
        const auto file =
            GgufFile::parse({reinterpret_cast<const std::byte*>(bytes.text().data()), bytes.size()}, refuse);
        std::vector<Text> warnings;
        CHECK(gguf_vocabulary(file, 1, refuse, warnings).kind == Vocabulary::Kind::None);
        REQUIRE(warnings.size() == 1);
        return warnings.front().english();
    };
    CHECK(warning_of().find("does not name its pre-tokenizer") != std::string::npos);
    builder.set_string("tokenizer.ggml.pre", "kimi-k2");
    CHECK(warning_of().find("the pre-tokenizer 'kimi-k2' is not known") != std::string::npos);
}

TEST_CASE("a damaged tokenizer.json is refused, and an unsupported feature is named")
{
    const json valid = json::parse(read("qwen2.tokenizer.json"));
    const auto load = [](const json& root) {
        return read_tokenizer_json(root.dump(), 100000, Refusal("tokenizer.json"));
    };
    CHECK_NOTHROW(load(valid));
    const auto changed = [&](const std::string& pointer, const json& value) {
        json root = valid;
        root[json::json_pointer(pointer)] = value;
        return root;
    };
    const auto check_refused = [&](const json& root, const std::string& code, const std::string& part) {
        const Refused refusal = refused([&] { load(root); });
        INFO(refusal.message);
        CHECK(refusal.code == "PAL-MODEL-" + code);
        CHECK(refusal.says(part));
    };
    check_refused(changed("/model", nullptr), "T1", "no 'model'");
    check_refused(changed("/model/vocab", json::array()), "T1", "no object 'vocab'");
    check_refused(changed("/model/vocab/a", -1), "T2", "the id of 'a' is not a number");
    check_refused(changed("/model/vocab/a", 100000), "T2",
                  "the token 'a' has id 100000 but the embedding has 100000");
    check_refused(changed("/model/vocab/a", 5), "T2", "both have id 5");
    check_refused(changed("/model/vocab/new", 5), "T2", "both have id 5");
    check_refused(changed("/model/vocab/" + std::string(4097, 'x'), 3000), "T3", "has 4097 bytes");
    check_refused(changed("/model/merges", nullptr), "T4", "no list 'merges'");
    check_refused(changed("/model/merges/0", "ab"), "T4", "'ab', not two pieces");
    check_refused(changed("/model/merges/0", 7), "T4", "neither a string nor a pair");
    check_refused(changed("/model/merges/0", {"absent", "a"}), "T4", "names the piece 'absent'");
    check_refused(changed("/added_tokens", 3), "T7", "not a list");
    check_refused(changed("/added_tokens/0/content", nullptr), "T7", "has no content");

    const auto check_named = [&](const json& root, const std::string& part) {
        INFO(part);
        CHECK_THROWS_WITH(load(root), Catch::Contains(part));
    };
    check_named(changed("/model/type", "Unigram"), "'Unigram'");
    check_named(changed("/model/end_of_word_suffix", "</w>"), "'end_of_word_suffix'");
    check_named(changed("/normalizer", {{"type", "Lowercase"}}), "'Lowercase'");
    check_named(changed("/pre_tokenizer/pretokenizers/0/pattern/Regex", "(a+)+$"), "pre-tokenizer is not known");
    check_named(changed("/pre_tokenizer/pretokenizers/0/behavior", "Removed"), "'Removed'");
    check_named(changed("/pre_tokenizer/pretokenizers/1/add_prefix_space", true), "adds a space");
    check_named(changed("/pre_tokenizer", {{"type", "BertPreTokenizer"}}), "'BertPreTokenizer'");
    check_named(changed("/decoder", {{"type", "WordPiece"}}), "'WordPiece'");
    check_named(changed("/post_processor", {{"type", "RobertaProcessing"}}), "'RobertaProcessing'");
    json strips = valid;
    strips["added_tokens"].back()["lstrip"] = true;
    check_named(strips, "'lstrip'");
    json tags = valid; // as in Phi-3
    const auto tag = static_cast<TokenId>(1000);
    tags["added_tokens"].push_back({{"id", tag},
                                    {"content", "</s>"},
                                    {"single_word", false},
                                    {"lstrip", false},
                                    {"rstrip", true},
                                    {"normalized", false},
                                    {"special", false}});
    const Tokenizer tagged(load(tags).vocabulary);
    CHECK(tagged.encode("a</s> \n</s>b", true) == std::vector<TokenId>{tagged.id("a"), tag, tag, tagged.id("b")});
    CHECK_FALSE(tagged.is_end(tag));
    json many = valid;
    many["normalizer"] = {{"type", "Sequence"}, {"normalizers", json::array()}};
    for (int i = 0; i < 17; ++i)
        many["normalizer"]["normalizers"].push_back({{"type", "NFC"}});
    check_refused(many, "T1", "more than 16 steps");
}
