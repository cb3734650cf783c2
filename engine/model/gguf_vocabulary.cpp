#include "engine/model/gguf_vocabulary.h"

#include "engine/model/limits.h"
#include "engine/model/piece_check.h"

namespace palimpsest::engine {
namespace {

TokenId special_id(const GgufFile& file, const std::string& key, uint64_t rows, const Refusal& refuse,
                   TokenId otherwise = -1)
{
    const auto id = file.u32(key);
    if (!id) return otherwise;
    if (*id >= rows) {
        refuse.fail("13", in_quotes(key) + " is " + std::to_string(*id) + " but the vocabulary has " +
                              std::to_string(rows) + " tokens");
    }
    return static_cast<TokenId>(*id);
}

void read_pieces(const GgufFile& file, uint64_t rows, const Refusal& refuse, Vocabulary& vocabulary)
{
    vocabulary.pieces = file.string_array("tokenizer.ggml.tokens", limits::vocabulary);
    const uint64_t count = vocabulary.pieces.size();
    if (count != rows) {
        refuse.fail("13", "the vocabulary has " + std::to_string(count) + " tokens but the embedding has " +
                              std::to_string(rows) + " rows");
    }
    vocabulary.scores = file.f32_array("tokenizer.ggml.scores", count);
    vocabulary.types = file.i32_array("tokenizer.ggml.token_type", count);
    PieceCheck check(refuse, {"13", "13", "13"});
    for (size_t i = 0; i < count; ++i)
        check.add(vocabulary.pieces[i], vocabulary.scores[i], vocabulary.types[i]);
}

std::string short_string(const GgufFile& file, const std::string& key, uint64_t limit, const Refusal& refuse)
{
    const auto text = file.string(key);
    if (!text) return {};
    if (text->size() > limit) {
        refuse.fail("13",
                    in_quotes(key) + " has " + std::to_string(text->size()) + " bytes, the limit is " +
                        std::to_string(limit),
                    Refusal::other_model);
    }
    return std::string(*text);
}

} // namespace

Vocabulary gguf_vocabulary(const GgufFile& file, uint64_t rows, const Refusal& refuse,
                           std::vector<std::string>& warnings)
{
    Vocabulary vocabulary;
    const std::string model = short_string(file, "tokenizer.ggml.model", limits::key_bytes, refuse);
    vocabulary.bos = special_id(file, "tokenizer.ggml.bos_token_id", rows, refuse);
    vocabulary.eos = special_id(file, "tokenizer.ggml.eos_token_id", rows, refuse);
    vocabulary.eot = special_id(file, "tokenizer.ggml.eot_token_id", rows, refuse);
    vocabulary.chat_template = short_string(file, "tokenizer.chat_template", limits::chat_template_bytes, refuse);
    vocabulary.normalizer = short_string(file, "palimpsest.normalizer", limits::key_bytes, refuse);
    if (model == "llama") {
        vocabulary.kind = Vocabulary::Kind::SpmPieces;
        read_pieces(file, rows, refuse, vocabulary);
        vocabulary.unknown = special_id(file, "tokenizer.ggml.unknown_token_id", rows, refuse, 0);
    } else if (model.empty()) {
        warnings.push_back("the file has no tokenizer: only token ids can be given");
    } else {
        warnings.push_back("tokenizers of kind " + in_quotes(model) +
                           " are not supported yet, only 'llama' (sentencepiece): only token ids can be given");
    }
    vocabulary.add_space_prefix = file.boolean("tokenizer.ggml.add_space_prefix").value_or(true);
    vocabulary.add_bos =
        file.boolean("tokenizer.ggml.add_bos_token").value_or(model == "llama") && vocabulary.bos >= 0;
    return vocabulary;
}

} // namespace palimpsest::engine
