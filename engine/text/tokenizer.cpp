#include "engine/text/tokenizer.h"

#include <array>
#include <cassert>

#include "engine/text/bpe/bpe_encoder.h"
#include "engine/text/sentencepiece_encoder.h"
#include "kernels/base/error.h"

namespace palimpsest::engine {
namespace {

// Control pieces that end an answer: they end turns and texts in the chat templates of the supported model
// families.
constexpr std::array<std::string_view, 14> end_spellings = {"<|im_end|>",
                                                            "<|eot_id|>",
                                                            "<|eom_id|>",
                                                            "<|end|>",
                                                            "<|endoftext|>",
                                                            "<|end_of_text|>",
                                                            "<|end_of_turn|>",
                                                            "<end_of_turn>",
                                                            "<turn|>",
                                                            "<|eot|>",
                                                            "<|end_of_sentence|>",
                                                            "<|END_OF_TURN_TOKEN|>",
                                                            "</s>",
                                                            "<\xEF\xBD\x9C"
                                                            "end\xE2\x96\x81of\xE2\x96\x81sentence\xEF\xBD\x9C>"};

} // namespace

Tokenizer::Tokenizer(const Vocabulary& vocabulary)
    : add_bos_(vocabulary.add_bos), normalizer_(vocabulary.normalizer)
{
    assert(vocabulary.kind != Vocabulary::Kind::None);
    take_special_ids(vocabulary);
    for (TokenId id = 0; id < size(); ++id) {
        surfaces_.push_back(encoder_->surface(id));
        if (is_control(id)) controls_.push_back(id);
    }
    read_ends(vocabulary);
}

Tokenizer::~Tokenizer() = default;

void Tokenizer::take_special_ids(const Vocabulary& vocabulary)
{
    bos_ = vocabulary.bos, eos_ = vocabulary.eos, eot_ = vocabulary.eot;
    if (vocabulary.kind == Vocabulary::Kind::Bpe) {
        encoder_ = std::make_unique<BpeEncoder>(vocabulary);
    } else {
        auto encoder = std::make_unique<SentencepieceEncoder>(vocabulary);
        const bool is_model = vocabulary.kind == Vocabulary::Kind::SpmModel;
        if (is_model && bos_ < 0) bos_ = encoder->bos();
        if (is_model && eos_ < 0) eos_ = encoder->eos();
        encoder_ = std::move(encoder);
    }
    std::vector<TokenId> special = vocabulary.other_ends;
    special.insert(special.end(), {bos_, eos_, eot_});
    for (const TokenId id : special)
        if (id >= size())
            throw Error(ErrorKind::Failed, ErrorCode::ModelG13, Text("tokenizer"),
                        Text("a special token has id {0}, the vocabulary {1} pieces", id, size()),
                        Text("download the model again"));
}

void Tokenizer::read_ends(const Vocabulary& vocabulary)
{
    const auto add = [&](TokenId id) {
        if (id >= 0 && !is_end(id)) ends_.push_back(id);
    };
    add(eos_), add(eot_);
    for (const TokenId id : vocabulary.other_ends)
        add(id);
    for (const TokenId id : controls_)
        if (std::find(end_spellings.begin(), end_spellings.end(), piece(id)) != end_spellings.end()) add(id);
}

std::vector<TokenId> Tokenizer::encode(std::string_view text, bool first_piece) const
{
    std::vector<EncodedToken> tokens;
    encode_prefix(text, first_piece, true, 0, tokens);
    std::vector<TokenId> ids;
    ids.reserve(tokens.size());
    for (const EncodedToken& token : tokens)
        ids.push_back(token.id);
    return ids;
}

size_t Tokenizer::encode_prefix(std::string_view text, bool first_piece, bool at_end, uint64_t offset,
                                std::vector<EncodedToken>& out) const
{
    return encoder_->encode_prefix(text, first_piece, at_end, offset, out);
}

} // namespace palimpsest::engine
