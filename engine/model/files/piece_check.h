// Rules for every sentencepiece vocabulary, whatever its source (docs/validation.md, G13, T2, T3 and T8).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "engine/model/files/refusal.h"
#include "engine/text/subwords/vocabulary.h"

namespace palimpsest::engine {

// The values are those of sentencepiece.
enum class PieceType : int32_t { Normal = 1, Unknown, Control, UserDefined, Unused, Byte };

// Accepts exactly the form "<0x0A>". A byte piece that is spelled otherwise would index outside of a byte table.
bool is_byte_spelling(std::string_view piece);

// Checks pieces in the order of their ids. `rules`: the error codes to report, which depend on the vocabulary's
// format.
class PieceCheck {
public:
    struct Rules {
        ErrorCode text, id, score; // tokenizer.model: ModelT3, ModelT2, ModelT8; GGUF: ModelG13 for all
    };
    PieceCheck(const Refusal& refuse, Rules rules) : refuse_(refuse), rules_(rules) {}

    void add(std::string_view piece, float score, int64_t type);
    TokenId count() const { return static_cast<TokenId>(ids_.size()); }
    const std::unordered_map<std::string, TokenId>& ids() const { return ids_; }
    std::unordered_map<std::string, TokenId> take_ids() { return std::move(ids_); }

private:
    const Refusal& refuse_;
    Rules rules_;
    std::unordered_map<std::string, TokenId> ids_;
};

} // namespace palimpsest::engine
