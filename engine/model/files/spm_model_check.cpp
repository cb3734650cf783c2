#include "engine/model/files/spm_model_check.h"

#include <bit>
#include <cstring>

#include "engine/model/config/limits.h"
#include "engine/model/files/piece_check.h"
#include "engine/model/files/protobuf_fields.h"

namespace palimpsest::engine {
namespace {

using Field = ProtobufFields::Field;
using Wire = ProtobufFields::Wire;

// The double-array trie (Darts) inside precompiled_charsmap. sentencepiece walks it without checking indices: from
// unit p the next one is p ^ offset ^ byte. So all 256 successors of every reachable unit must be inside the array,
// and every value must point into the text block.
class CharacterMap {
public:
    CharacterMap(std::string_view blob, const Refusal& refuse) : refuse_(refuse)
    {
        uint32_t trie_bytes = 0;
        if (blob.size() < sizeof trie_bytes) fail(Text("its 'precompiled_charsmap' is too short"));
        std::memcpy(&trie_bytes, blob.data(), sizeof trie_bytes);
        blob.remove_prefix(sizeof trie_bytes);
        if (trie_bytes >= blob.size() || trie_bytes % sizeof(uint32_t) != 0 || trie_bytes == 0)
            fail(Text("its 'precompiled_charsmap' claims a table of {0} of {1} bytes", trie_bytes, blob.size()));
        trie_ = blob.substr(0, trie_bytes);
        text_ = blob.substr(trie_bytes);
    }

    void check() const
    {
        if (text_.back() != '\0')
            fail(Text(
                "its 'precompiled_charsmap' does not end with a NUL")); // sentencepiece measures texts with strlen
        for (uint32_t p = 0; p < units(); ++p) {
            const bool is_value = (unit(p) >> 31) != 0;
            // Unit 0 is the root. sentencepiece enters another unit only if its label equals a byte, which the
            // label of a value never does.
            if (p == 0 || !is_value) check_node(p);
        }
    }

private:
    [[noreturn]] void fail(const Text& what) const { refuse_.fail(ErrorCode::ModelT6, what); }

    uint32_t units() const { return static_cast<uint32_t>(trie_.size() / sizeof(uint32_t)); }

    uint32_t unit(uint32_t p) const
    {
        uint32_t value;
        std::memcpy(&value, trie_.data() + p * sizeof value, sizeof value);
        return value;
    }

    void check_node(uint32_t p) const
    {
        const uint32_t u = unit(p);
        const uint32_t offset = (u >> 10) << ((u & (1u << 9)) >> 6);
        const uint32_t base = p ^ offset;
        const bool has_leaf = ((u >> 8) & 1u) != 0;
        if ((base | 0xFFu) >= units())
            fail(Text("its 'precompiled_charsmap' leads outside of its table at node {0}", p));
        if (has_leaf && (unit(base) & 0x7FFFFFFFu) >= text_.size())
            fail(Text("its 'precompiled_charsmap' leads outside of its text at node {0}", p));
    }

    const Refusal& refuse_;
    std::string_view trie_, text_;
};

class ModelReader {
public:
    explicit ModelReader(const Refusal& refuse)
        : refuse_(refuse), check_(refuse, {ErrorCode::ModelT3, ErrorCode::ModelT2, ErrorCode::ModelT8})
    {
    }

    SpmFacts read(std::string_view bytes)
    {
        ProtobufFields fields(bytes, refuse_);
        while (const auto field = fields.next()) {
            switch (field->number) {
            case 1:
                read_piece(message(*field));
                break;
            case 2:
                read_trainer(message(*field));
                break;
            case 3:
            case 5:
                read_normalizer(message(*field));
                break;
            default:
                break;
            }
        }
        if (check_.count() == 0)
            refuse_.fail(ErrorCode::ModelT2, Text("it has no pieces: it is no sentencepiece model"));
        facts_.ids = check_.take_ids();
        facts_.bos = control(bos_piece_);
        facts_.eos = control(eos_piece_);
        return std::move(facts_);
    }

private:
    std::string_view message(const Field& field) const
    {
        if (field.wire != Wire::Bytes) wrong_wire(field);
        return field.bytes;
    }

    [[noreturn]] void wrong_wire(const Field& field) const
    {
        refuse_.fail(ErrorCode::ModelT9, Text("field {0} has the wrong type", field.number));
    }

    void read_piece(std::string_view bytes)
    {
        std::string_view piece;
        float score = 0.0f;
        uint64_t type = 1;
        ProtobufFields fields(bytes, refuse_);
        while (const auto field = fields.next()) {
            if (field->number == 1) {
                piece = message(*field);
            } else if (field->number == 2) {
                if (field->wire != Wire::Fixed32) wrong_wire(*field);
                score = std::bit_cast<float>(static_cast<uint32_t>(field->integer));
            } else if (field->number == 3) {
                if (field->wire != Wire::Varint) wrong_wire(*field);
                type = field->integer;
            }
        }
        const TokenId id = check_.count();
        check_.add(piece, score, static_cast<int64_t>(type));
        if (static_cast<PieceType>(type) == PieceType::Unknown) facts_.unknown = id;
        if (static_cast<PieceType>(type) == PieceType::Control) controls_.emplace(piece, id);
    }

    void read_trainer(std::string_view bytes)
    {
        ProtobufFields fields(bytes, refuse_);
        while (const auto field = fields.next()) {
            if (field->number == 46) bos_piece_ = message(*field);
            if (field->number == 47) eos_piece_ = message(*field);
        }
    }

    void read_normalizer(std::string_view bytes)
    {
        ProtobufFields fields(bytes, refuse_);
        while (const auto field = fields.next()) {
            if (field->number != 2) continue;
            const std::string_view blob = message(*field);
            if (!blob.empty()) CharacterMap(blob, refuse_).check();
        }
    }

    TokenId control(std::string_view piece) const
    {
        const auto at = controls_.find(std::string(piece));
        return at == controls_.end() ? -1 : at->second;
    }

    const Refusal& refuse_;
    PieceCheck check_;
    SpmFacts facts_;
    std::unordered_map<std::string, TokenId> controls_;
    std::string_view bos_piece_ = "<s>", eos_piece_ = "</s>";
};

} // namespace

SpmFacts check_spm_model(std::string_view bytes, const Refusal& refuse)
{
    if (bytes.size() > limits::tokenizer_bytes)
        refuse.fail(ErrorCode::ModelT1,
                    Text("the file has {0} bytes, the limit is {1}", bytes.size(), limits::tokenizer_bytes));
    return ModelReader(refuse).read(bytes);
}

} // namespace palimpsest::engine
