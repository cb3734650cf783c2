#include "engine/model/files/gguf_vocabulary.h"

#include <algorithm>

#include "engine/model/config/limits.h"
#include "engine/model/files/bpe_merges.h"
#include "engine/model/files/piece_check.h"
#include "engine/text/bpe/pre_tokenizer.h"

namespace palimpsest::engine {
namespace {

TokenId special_id(const GgufFile& file, const std::string& key, uint64_t rows, const Refusal& refuse,
                   TokenId otherwise = -1)
{
    const auto id = file.u32(key);
    if (!id) return otherwise;
    if (*id >= rows) {
        refuse.fail(ErrorCode::ModelG13,
                    Text("{0} is {1} but the vocabulary has {2} tokens", in_quotes(key), *id, rows));
    }
    return static_cast<TokenId>(*id);
}

// Whether tokens of this type never result from ordinary text.
bool is_special(int32_t type)
{
    const auto piece = static_cast<PieceType>(type);
    return piece == PieceType::Control || piece == PieceType::UserDefined || piece == PieceType::Unused;
}

// Reads pieces and types, and scores if the vocabulary's kind has them. Returns the ids of the pieces. Special
// tokens beyond the last row of the embedding, such as image tokens in Ollama's files of Gemma 3, are dropped.
std::unordered_map<std::string, TokenId> read_pieces(const GgufFile& file, uint64_t rows, const Refusal& refuse,
                                                     Vocabulary& vocabulary, std::vector<Text>& warnings)
{
    vocabulary.pieces = file.string_array("tokenizer.ggml.tokens", limits::vocabulary);
    const uint64_t count = vocabulary.pieces.size();
    const Text counts("the vocabulary has {0} tokens but the embedding has {1} rows", count, rows);
    if (count < rows) refuse.fail(ErrorCode::ModelG13, counts);
    const bool has_scores = vocabulary.kind == Vocabulary::Kind::SpmPieces;
    if (has_scores) vocabulary.scores = file.f32_array("tokenizer.ggml.scores", count);
    vocabulary.types = file.i32_array("tokenizer.ggml.token_type", count);
    if (count > rows) {
        const auto first = static_cast<std::ptrdiff_t>(rows);
        if (!std::all_of(vocabulary.types.begin() + first, vocabulary.types.end(), is_special))
            refuse.fail(ErrorCode::ModelG13, counts);
        warnings.push_back(
            Text("{0}: special tokens from {1} on are not used", counts, in_quotes(vocabulary.pieces[rows])));
        vocabulary.pieces.resize(rows);
        vocabulary.types.resize(rows);
        if (has_scores) vocabulary.scores.resize(rows);
    }
    PieceCheck check(refuse, {ErrorCode::ModelG13, ErrorCode::ModelG13, ErrorCode::ModelG13});
    for (size_t i = 0; i < rows; ++i)
        check.add(vocabulary.pieces[i], has_scores ? vocabulary.scores[i] : 0.0f, vocabulary.types[i]);
    return check.take_ids();
}

std::string short_string(const GgufFile& file, const std::string& key, uint64_t limit, const Refusal& refuse)
{
    const auto text = file.string(key);
    if (!text) return {};
    if (text->size() > limit) {
        refuse.fail(ErrorCode::ModelG13,
                    Text("{0} has {1} bytes, the limit is {2}", in_quotes(key), text->size(), limit),
                    Refusal::other_model());
    }
    return std::string(*text);
}

void read_merges(const GgufFile& file, const std::unordered_map<std::string, TokenId>& ids, const Refusal& refuse,
                 Vocabulary& vocabulary)
{
    BpeMerges merges(ids, refuse, ErrorCode::ModelG13);
    for (const std::string& pair : file.string_array("tokenizer.ggml.merges", limits::merges))
        merges.add(std::string_view(pair));
    vocabulary.merges = merges.take();
}

// Byte-level BPE. The pre-tokenizer must be known: another one would split text into tokens that differ from those
// of the model's training. GGUF has no standard key for the Unicode normalisation of the original tokenizer (Qwen's
// uses form C), so text is normalised only if 'palimpsest.normalizer' requests it.
void read_byte_level(const GgufFile& file, uint64_t rows, const Refusal& refuse, Vocabulary& vocabulary,
                     std::vector<Text>& warnings)
{
    const std::string name = short_string(file, "tokenizer.ggml.pre", limits::key_bytes, refuse);
    const GgufPreTokenizer known = gguf_pre_tokenizer(name);
    if (known.name.empty()) {
        warnings.push_back(
            name.empty()
                ? Text("the file does not name its pre-tokenizer ('tokenizer.ggml.pre'), as old "
                       "conversions did not: only token ids can be given")
                : Text("the pre-tokenizer {0} is not known: only token ids can be given", in_quotes(name)));
        return;
    }
    vocabulary.kind = Vocabulary::Kind::Bpe;
    vocabulary.alphabet = Vocabulary::Alphabet::Bytes;
    vocabulary.pre_tokenizer = known.name;
    vocabulary.ignore_merges = known.ignore_merges;
    vocabulary.add_bos = known.adds_bos;
    const auto ids = read_pieces(file, rows, refuse, vocabulary, warnings);
    read_merges(file, ids, refuse, vocabulary);
}

// Character-level BPE with byte pieces and merges: Gemma 4.
void read_character_level(const GgufFile& file, uint64_t rows, const Refusal& refuse, Vocabulary& vocabulary,
                          std::vector<Text>& warnings)
{
    vocabulary.kind = Vocabulary::Kind::Bpe;
    vocabulary.alphabet = Vocabulary::Alphabet::Characters;
    vocabulary.pre_tokenizer = "lines";
    vocabulary.add_bos = true;
    const auto ids = read_pieces(file, rows, refuse, vocabulary, warnings);
    read_merges(file, ids, refuse, vocabulary);
    vocabulary.unknown = special_id(file, "tokenizer.ggml.unknown_token_id", rows, refuse);
}

} // namespace

Vocabulary gguf_vocabulary(const GgufFile& file, uint64_t rows, const Refusal& refuse, std::vector<Text>& warnings)
{
    Vocabulary vocabulary;
    const std::string model = short_string(file, "tokenizer.ggml.model", limits::key_bytes, refuse);
    vocabulary.bos = special_id(file, "tokenizer.ggml.bos_token_id", rows, refuse);
    vocabulary.eos = special_id(file, "tokenizer.ggml.eos_token_id", rows, refuse);
    vocabulary.eot = special_id(file, "tokenizer.ggml.eot_token_id", rows, refuse);
    vocabulary.chat_template = short_string(file, "tokenizer.chat_template", limits::chat_template_bytes, refuse);
    vocabulary.normalizer = short_string(file, "palimpsest.normalizer", limits::key_bytes, refuse);
    if (const TokenId eom = special_id(file, "tokenizer.ggml.eom_token_id", rows, refuse); eom >= 0)
        vocabulary.other_ends.push_back(eom);
    if (model == "llama") {
        vocabulary.kind = Vocabulary::Kind::SpmPieces;
        vocabulary.add_bos = true;
        read_pieces(file, rows, refuse, vocabulary, warnings);
        vocabulary.unknown = special_id(file, "tokenizer.ggml.unknown_token_id", rows, refuse, 0);
    } else if (model == "gpt2") {
        read_byte_level(file, rows, refuse, vocabulary, warnings);
    } else if (model == "gemma4") {
        read_character_level(file, rows, refuse, vocabulary, warnings);
    } else if (model.empty()) {
        warnings.push_back(Text("the file has no tokenizer: only token ids can be given"));
    } else {
        warnings.push_back(Text("tokenizers of kind {0} are not supported, only 'llama' (sentencepiece), 'gpt2' "
                                "(byte-level BPE) and 'gemma4': only token ids can be given",
                                in_quotes(model)));
    }
    const bool prefix_by_default = vocabulary.kind == Vocabulary::Kind::SpmPieces;
    vocabulary.add_space_prefix = file.boolean("tokenizer.ggml.add_space_prefix").value_or(prefix_by_default);
    vocabulary.add_bos =
        file.boolean("tokenizer.ggml.add_bos_token").value_or(vocabulary.add_bos) && vocabulary.bos >= 0;
    return vocabulary;
}

} // namespace palimpsest::engine
