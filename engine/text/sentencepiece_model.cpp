#include "engine/text/sentencepiece_model.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <unordered_set>

#include "engine/text/subwords/stretch_cutter.h"
#include "engine/text/unicode/utf8.h"
#include "kernels/base/error.h"
#include "kernels/base/printable.h"

namespace palimpsest::engine {
namespace {

constexpr size_t most_model_bytes = size_t{64} << 20; // docs/validation.md, L6
constexpr size_t most_pieces = size_t{1} << 20;       // docs/validation.md, L5
constexpr size_t longest_piece = 4096;                // docs/validation.md, L5

// Fields of ModelProto.
constexpr uint32_t model_pieces = 1, model_trainer = 2, model_normalizer = 3, model_denormalizer = 5;
// Fields of SentencePiece.
constexpr uint32_t piece_text = 1, piece_score = 2, piece_type = 3;
// Fields of TrainerSpec.
constexpr uint32_t trainer_model_type = 3, trainer_space_as_suffix = 24, trainer_byte_fallback = 35;
constexpr uint32_t trainer_unknown_id = 40, trainer_bos_id = 41, trainer_eos_id = 42, trainer_pad_id = 43;
constexpr uint32_t trainer_unknown_surface = 44, trainer_unknown_piece = 45, trainer_bos_piece = 46;
constexpr uint32_t trainer_eos_piece = 47;
// Fields of NormalizerSpec.
constexpr uint32_t normalizer_name = 1, normalizer_charsmap = 2, normalizer_dummy_prefix = 3;
constexpr uint32_t normalizer_remove_spaces = 4, normalizer_escape_spaces = 5;

constexpr uint64_t type_unigram = 1, type_bpe = 2;
constexpr int32_t normal = 1, unknown = 2, control = 3, user_defined = 4, byte = 6;

// Protobuf wire format: a field is a key, number << 3 | wire type, and a value.
constexpr uint32_t wire_varint = 0, wire_64 = 1, wire_bytes = 2, wire_32 = 5;

void write_varint(uint64_t value, std::string& out)
{
    for (; value >= 0x80; value >>= 7)
        out += static_cast<char>(value | 0x80);
    out += static_cast<char>(value);
}

void write_integer(uint32_t field, int64_t value, std::string& out)
{
    write_varint(field << 3 | wire_varint, out);
    write_varint(static_cast<uint64_t>(value), out);
}

void write_bytes(uint32_t field, std::string_view bytes, std::string& out)
{
    write_varint(field << 3 | wire_bytes, out);
    write_varint(bytes.size(), out);
    out += bytes;
}

void write_float(uint32_t field, float value, std::string& out)
{
    write_varint(field << 3 | wire_32, out);
    const auto bits = std::bit_cast<uint32_t>(value);
    for (int shift = 0; shift < 32; shift += 8)
        out += static_cast<char>(bits >> shift);
}

// Markers that the program inserts become control pieces, whatever their type in the file, so that text cannot
// produce them. Some converters leave Gemma's turn markers as normal pieces.
bool is_marker(const Vocabulary& vocabulary, size_t id)
{
    const auto token = static_cast<TokenId>(id);
    const std::string& piece = vocabulary.pieces[id];
    return token == vocabulary.bos || token == vocabulary.eos || token == vocabulary.eot ||
           (piece.starts_with("<|") && piece.ends_with("|>")) || piece == "<start_of_turn>" ||
           piece == "<end_of_turn>";
}

int32_t type_of(const Vocabulary& vocabulary, size_t id)
{
    const int32_t type = vocabulary.types[id];
    if (type == unknown && static_cast<TokenId>(id) != vocabulary.unknown && vocabulary.unknown >= 0)
        return control;
    if (static_cast<TokenId>(id) == vocabulary.unknown) return unknown;
    return (type == normal || type == user_defined) && is_marker(vocabulary, id) ? control : type;
}

// GGUF converters write user-defined pieces, such as Gemma's runs of spaces, with spaces. The library looks for
// them in text whose spaces are replaced by U+2581, so this replaces them in the piece, too, unless the vocabulary
// already has a piece with that spelling.
//
// Gemma's runs of 2 to 31 spaces are user-defined pieces, so the library matches the longest first: 32 spaces
// become 31 and 1, as with the original model. The conversion in transformers ignores the types and merges 32
// spaces to 16 and 16.
std::string marked_piece(const Vocabulary& vocabulary, size_t id,
                         const std::unordered_set<std::string_view>& pieces)
{
    const std::string& piece = vocabulary.pieces[id];
    if (vocabulary.types[id] != user_defined || piece.find(' ') == std::string::npos) return piece;
    std::string marked;
    for (const char c : piece)
        marked += c == ' ' ? std::string(space_mark) : std::string(1, c);
    return pieces.contains(marked) ? piece : marked;
}

std::string trainer_spec(const Vocabulary& vocabulary)
{
    const bool has_bytes =
        std::find(vocabulary.types.begin(), vocabulary.types.end(), byte) != vocabulary.types.end();
    std::string spec;
    write_integer(trainer_model_type, static_cast<int64_t>(type_bpe), spec);
    write_integer(trainer_byte_fallback, has_bytes ? 1 : 0, spec);
    const auto special = [&](uint32_t id_field, uint32_t piece_field, TokenId id) {
        write_integer(id_field, id, spec);
        if (id >= 0) write_bytes(piece_field, vocabulary.pieces[static_cast<size_t>(id)], spec);
    };
    special(trainer_unknown_id, trainer_unknown_piece, vocabulary.unknown);
    special(trainer_bos_id, trainer_bos_piece, vocabulary.bos);
    special(trainer_eos_id, trainer_eos_piece, vocabulary.eos);
    write_integer(trainer_pad_id, -1, spec);
    return spec;
}

std::string normalizer_spec(const Vocabulary& vocabulary)
{
    std::string spec;
    write_bytes(normalizer_name, "identity", spec);
    write_integer(normalizer_dummy_prefix, vocabulary.add_space_prefix ? 1 : 0, spec);
    write_integer(normalizer_remove_spaces, 0, spec);
    write_integer(normalizer_escape_spaces, 1, spec);
    return spec;
}

[[noreturn]] void refuse(const Text& what, const Text& remedy = Text("download the model again"),
                         std::optional<uint64_t> offset = std::nullopt)
{
    throw Error(ErrorKind::Failed, ErrorCode::ModelG13, Text("tokenizer"), what, remedy, offset);
}

struct Field {
    uint32_t number = 0, wire = 0;
    uint64_t value = 0;     // if varint
    std::string_view bytes; // otherwise
};

// Iterates over the fields of one message; never reads past its end (docs/validation.md, T9).
class Fields {
public:
    explicit Fields(std::string_view message) : message_(message) {}

    std::optional<Field> next()
    {
        if (at_ == message_.size()) return std::nullopt;
        const uint64_t key = varint();
        if (key >> 3 == 0 || key >> 32 != 0) damaged();
        Field field{static_cast<uint32_t>(key >> 3), static_cast<uint32_t>(key & 7), 0, {}};
        switch (field.wire) {
        case wire_varint:
            field.value = varint();
            break;
        case wire_64:
            field.bytes = take(8);
            break;
        case wire_bytes:
            field.bytes = take(varint());
            break;
        case wire_32:
            field.bytes = take(4);
            break;
        default:
            damaged(); // groups are obsolete, and no sentencepiece model has them
        }
        return field;
    }

private:
    uint64_t varint()
    {
        uint64_t value = 0;
        for (int shift = 0; shift < 70; shift += 7) {
            const auto part = static_cast<unsigned char>(take(1)[0]);
            value |= static_cast<uint64_t>(part & 0x7F) << std::min(shift, 63);
            if (part < 0x80) return value;
        }
        damaged();
    }

    std::string_view take(uint64_t count)
    {
        if (count > message_.size() - at_) damaged();
        at_ += static_cast<size_t>(count);
        return message_.substr(at_ - static_cast<size_t>(count), static_cast<size_t>(count));
    }

    [[noreturn]] void damaged() const
    {
        refuse(Text("the sentencepiece model is damaged or cut short"), Text("download the model again"), at_);
    }

    std::string_view message_;
    size_t at_ = 0;
};

bool is_utf8(std::string_view text)
{
    bool all = true;
    Utf8Decoder decoder;
    const auto sink = [&](char32_t, size_t, bool valid) { all = all && valid; };
    for (char c : text)
        decoder.push(static_cast<unsigned char>(c), sink);
    decoder.finish(sink);
    return all;
}

bool is_byte_spelling(std::string_view piece)
{
    const auto hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'F'); };
    return piece.size() == 6 && piece.starts_with("<0x") && hex(piece[3]) && hex(piece[4]) && piece[5] == '>';
}

bool is_one_character(std::string_view text)
{
    return std::count_if(text.begin(), text.end(), [](char c) { return !is_utf8_continuation(c); }) == 1;
}

struct Piece {
    std::string_view text;
    int32_t type = normal;
};

Piece read_piece(std::string_view message, size_t id)
{
    Piece piece;
    Fields fields(message);
    while (const auto field = fields.next()) {
        if (field->number == piece_text && field->wire == wire_bytes) piece.text = field->bytes;
        if (field->number == piece_type && field->wire == wire_varint) {
            if (field->value < 1 || field->value > 6)
                refuse(Text("piece {0} has type {1}, known are 1 to 6", id, field->value));
            piece.type = static_cast<int32_t>(field->value);
        }
        if (field->number == piece_score && field->wire == wire_32) {
            uint32_t bits = 0;
            for (int i = 3; i >= 0; --i)
                bits = bits << 8 | static_cast<unsigned char>(field->bytes[static_cast<size_t>(i)]);
            if (!std::isfinite(std::bit_cast<float>(bits)))
                refuse(Text("piece {0} has a score that is not finite", id));
        }
    }
    return piece;
}

class Checker {
public:
    void take_piece(std::string_view message)
    {
        if (count_ == most_pieces) refuse(Text("it has more than {0} pieces", most_pieces));
        const Piece piece = read_piece(message, count_);
        if (piece.text.empty() || piece.text.size() > longest_piece)
            refuse(Text("piece {0} has {1} bytes, allowed are 1 to {2}", count_, piece.text.size(), longest_piece));
        if (!is_utf8(piece.text)) refuse(Text("piece {0} is not UTF-8", count_));
        if (!texts_.insert(piece.text).second)
            refuse(Text("piece {0} ({1}) occurs twice", count_, printable(piece.text)));
        if (piece.type == byte && !is_byte_spelling(piece.text))
            refuse(Text("byte piece {0} is spelled {1}", count_, printable(piece.text)));
        // The library looks up single characters among all pieces, control pieces included (docs/validation.md,
        // T11).
        if (piece.type == control && is_one_character(piece.text))
            refuse(Text("control piece {0} is the character {1}, which any text may contain", count_,
                        printable(piece.text)));
        if (piece.type == unknown) ++unknowns_;
        if (piece.type == byte) ++bytes_;
        ++count_;
    }

    void take_trainer(std::string_view message)
    {
        Fields fields(message);
        while (const auto field = fields.next()) {
            if (field->number == trainer_model_type) model_type_ = field->value;
            if (field->number == trainer_space_as_suffix) space_as_suffix_ = field->value != 0;
            if (field->number == trainer_byte_fallback) traits_.byte_fallback = field->value != 0;
            if (field->number == trainer_unknown_surface && field->wire == wire_bytes)
                traits_.unknown_surface = field->bytes;
        }
    }

    void take_normalizer(std::string_view message)
    {
        Fields fields(message);
        while (const auto field = fields.next()) {
            if (field->number == normalizer_charsmap && field->wire == wire_bytes)
                has_charsmap_ = !field->bytes.empty();
            if (field->number == normalizer_dummy_prefix) traits_.add_dummy_prefix = field->value != 0;
            if (field->number == normalizer_remove_spaces) removes_spaces_ = field->value != 0;
            if (field->number == normalizer_escape_spaces) escapes_spaces_ = field->value != 0;
        }
    }

    void take_denormalizer(std::string_view message)
    {
        Fields fields(message);
        while (const auto field = fields.next())
            if (field->number == normalizer_charsmap && !field->bytes.empty()) has_charsmap_ = true;
    }

    SentencepieceTraits traits() const
    {
        const Text other("use a model of the Llama or Mistral families, whose tokenizers keep text as it is");
        if (count_ == 0) refuse(Text("the sentencepiece model has no pieces"));
        if (unknowns_ != 1) refuse(Text("it has {0} pieces for unknown text, needed is 1", unknowns_));
        if (bytes_ != (traits_.byte_fallback ? 256 : 0))
            refuse(Text("it has {0} byte pieces, needed are {1}", bytes_, traits_.byte_fallback ? 256 : 0));
        if (model_type_ != type_bpe && model_type_ != type_unigram)
            refuse(Text("its sentencepiece type is {0}, supported are 1 (unigram) and 2 (BPE)", model_type_),
                   other);
        if (has_charsmap_)
            refuse(Text("it replaces characters (a sentencepiece character map), which is not supported"), other);
        if (removes_spaces_) refuse(Text("it removes repeated spaces, which is not supported"), other);
        if (space_as_suffix_ || !escapes_spaces_)
            refuse(Text("it does not write spaces before words, which is not supported"), other);
        return traits_;
    }

private:
    SentencepieceTraits traits_;
    std::unordered_set<std::string_view> texts_;
    size_t count_ = 0, unknowns_ = 0, bytes_ = 0;
    uint64_t model_type_ = type_unigram;
    // Defaults of the proto for fields that a file omits.
    bool has_charsmap_ = false, removes_spaces_ = true, escapes_spaces_ = true, space_as_suffix_ = false;
};

} // namespace

std::string sentencepiece_model(const Vocabulary& vocabulary)
{
    const size_t count = vocabulary.pieces.size();
    if (vocabulary.scores.size() != count || vocabulary.types.size() != count)
        refuse(Text("it has {0} pieces, {1} scores and {2} types", count, vocabulary.scores.size(),
                    vocabulary.types.size()));
    for (TokenId id : {vocabulary.bos, vocabulary.eos, vocabulary.eot, vocabulary.unknown})
        if (id < -1 || (id >= 0 && static_cast<size_t>(id) >= count))
            refuse(Text("a special token has id {0}, the vocabulary {1} pieces", id, count));
    const std::unordered_set<std::string_view> spelled(vocabulary.pieces.begin(), vocabulary.pieces.end());
    std::string model;
    for (size_t id = 0; id < count; ++id) {
        std::string piece;
        write_bytes(piece_text, marked_piece(vocabulary, id, spelled), piece);
        write_float(piece_score, vocabulary.scores[id], piece);
        write_integer(piece_type, type_of(vocabulary, id), piece);
        write_bytes(model_pieces, piece, model);
    }
    write_bytes(model_trainer, trainer_spec(vocabulary), model);
    write_bytes(model_normalizer, normalizer_spec(vocabulary), model);
    return model;
}

SentencepieceTraits check_sentencepiece_model(std::string_view model)
{
    if (model.size() > most_model_bytes)
        refuse(Text("the sentencepiece model has {0} bytes, the limit is {1}", model.size(), most_model_bytes));
    Checker checker;
    Fields fields(model);
    while (const auto field = fields.next()) {
        if (field->wire != wire_bytes) continue;
        if (field->number == model_pieces) checker.take_piece(field->bytes);
        if (field->number == model_trainer) checker.take_trainer(field->bytes);
        if (field->number == model_normalizer) checker.take_normalizer(field->bytes);
        if (field->number == model_denormalizer) checker.take_denormalizer(field->bytes);
    }
    return checker.traits();
}

std::string without_dummy_prefix(std::string_view model)
{
    std::string override;
    write_integer(normalizer_dummy_prefix, 0, override);
    std::string out(model);
    write_bytes(model_normalizer, override, out);
    return out;
}

} // namespace palimpsest::engine
