#include "engine/text/tokenizer.h"

#include <sentencepiece_processor.h>

#include <algorithm>
#include <cassert>

#include "engine/text/sentencepiece_model.h"
#include "engine/text/utf8.h"
#include "kernels/base/error.h"

namespace palimpsest::engine {
namespace {

using sentencepiece::SentencePieceProcessor;

constexpr std::string_view space_mark = "\xE2\x96\x81"; // U+2581 stands for a space in sentencepiece vocabularies
constexpr size_t batch_bytes = 2048;                    // of short lines that are encoded together

std::unique_ptr<SentencePieceProcessor> load(std::string_view model)
{
    const Error refused(ErrorKind::Failed, "PAL-MODEL-13", "tokenizer",
                        "the sentencepiece library does not accept it", "download the model again");
    auto processor = std::make_unique<SentencePieceProcessor>();
    try {
        if (!processor->LoadFromSerializedProto(model).ok()) throw refused;
    } catch (const Error&) {
        throw;
    } catch (const std::exception&) { // the trie throws on keys it does not take
        throw refused;
    }
    return processor;
}

std::string with_spaces(std::string_view piece)
{
    std::string out;
    while (!piece.empty()) {
        const bool marks_space = piece.starts_with(space_mark);
        out += marks_space ? ' ' : piece.front();
        piece.remove_prefix(marks_space ? space_mark.size() : 1);
    }
    return out;
}

char byte_value(std::string_view piece)
{
    const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'A' + 10; };
    return static_cast<char>(digit(piece[3]) * 16 + digit(piece[4]));
}

// The last place at or before `size` where a character begins; `size` itself in a run of stray continuation bytes.
size_t character_boundary(std::string_view text, size_t size)
{
    for (size_t cut = size; cut + 4 > size; --cut)
        if (!is_utf8_continuation(text[cut])) return cut;
    return size;
}

} // namespace

class Tokenizer::Library {
public:
    explicit Library(std::string_view model)
        : traits(check_sentencepiece_model(model)), later(load(without_dummy_prefix(model)))
    {
        if (traits.add_dummy_prefix) first = load(model);
    }

    const SentencePieceProcessor& at(bool first_piece) const { return first_piece && first ? *first : *later; }

    SentencepieceTraits traits;
    std::unique_ptr<SentencePieceProcessor> first; // null: the same as later
    std::unique_ptr<SentencePieceProcessor> later;
};

Tokenizer::Tokenizer(const Vocabulary& vocabulary)
    : add_bos_(vocabulary.add_bos), normalizer_(vocabulary.normalizer), bos_(vocabulary.bos), eos_(vocabulary.eos),
      eot_(vocabulary.eot)
{
    assert(vocabulary.kind != Vocabulary::Kind::None);
    const bool is_model = vocabulary.kind == Vocabulary::Kind::SpmModel;
    library_ = std::make_unique<Library>(is_model ? vocabulary.model : sentencepiece_model(vocabulary));
    if (is_model && bos_ < 0) bos_ = library_->later->bos_id();
    if (is_model && eos_ < 0) eos_ = library_->later->eos_id();
    for (TokenId id : {bos_, eos_, eot_})
        if (id >= size())
            throw Error(ErrorKind::Failed, "PAL-MODEL-13", "tokenizer",
                        "a special token has id " + std::to_string(id) + ", the vocabulary " +
                            std::to_string(size()) + " pieces",
                        "download the model again");
    read_pieces();
}

Tokenizer::~Tokenizer() = default;

void Tokenizer::read_pieces()
{
    const SentencePieceProcessor& library = *library_->later;
    unknown_ = library.unk_id();
    for (TokenId id = 0; id < size(); ++id) {
        const std::string& spelled = piece(id);
        const bool control = library.IsControl(id);
        is_control_.push_back(control ? 1 : 0);
        if (control) {
            controls_.push_back(id);
            surfaces_.emplace_back();
        } else if (library.IsUnknown(id)) {
            surfaces_.push_back(library_->traits.unknown_surface);
        } else if (library.IsByte(id)) {
            surfaces_.emplace_back(1, byte_value(spelled));
        } else {
            surfaces_.push_back(with_spaces(spelled));
            note_line_ends(spelled);
        }
    }
}

void Tokenizer::note_line_ends(std::string_view piece)
{
    for (size_t end = piece.find('\n'); end != std::string_view::npos; end = piece.find('\n', end + 1)) {
        if (end + 1 == piece.size()) return;
        const std::string_view rest = piece.substr(end + 1);
        line_end_continues_[static_cast<unsigned char>(rest.front())] = true;
        if (rest.starts_with(space_mark)) line_end_continues_[' '] = true;
        needs_lookahead_ = true;
    }
}

int32_t Tokenizer::size() const
{
    return library_->later->GetPieceSize();
}

const std::string& Tokenizer::piece(TokenId id) const
{
    return library_->later->IdToPiece(id);
}

const std::string& Tokenizer::surface(TokenId id) const
{
    return surfaces_[static_cast<size_t>(id)];
}

TokenId Tokenizer::id(std::string_view piece) const
{
    const TokenId id = library_->later->PieceToId(piece);
    return id >= 0 && this->piece(id) == piece ? id : -1;
}

bool Tokenizer::is_control(TokenId id) const
{
    return is_control_[static_cast<size_t>(id)] != 0;
}

bool Tokenizer::is_byte(TokenId id) const
{
    return library_->later->IsByte(id);
}

bool Tokenizer::is_unknown(TokenId id) const
{
    return id == unknown_;
}

bool Tokenizer::adds_space_prefix() const
{
    return library_->first != nullptr;
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
    size_t done = 0;
    while (done < text.size()) {
        const size_t cut = next_cut(text.substr(done), at_end);
        if (cut == 0) break;
        encode_stretch(text.substr(done, cut), first_piece && done == 0, offset + done, out);
        done += cut;
    }
    return done;
}

// The length of what is encoded next, 0 if that is not known yet.
size_t Tokenizer::next_cut(std::string_view text, bool at_end) const
{
    if (!needs_lookahead_) { // several lines at once cost less, and the same ids come out
        const size_t end = text.substr(0, batch_bytes).rfind('\n');
        if (end != std::string_view::npos) return end + 1;
    }
    const std::string_view window = text.substr(0, longest_stretch);
    for (size_t end = window.find('\n'); end != std::string_view::npos; end = window.find('\n', end + 1)) {
        if (end + 1 < text.size() && line_end_continues_[static_cast<unsigned char>(text[end + 1])]) continue;
        if (end + 1 < text.size() || at_end || !needs_lookahead_) return end + 1;
    }
    if (text.size() <= longest_stretch) return at_end ? text.size() : 0;
    for (size_t cut = longest_stretch; cut > longest_stretch / 2; --cut)
        if (text[cut] == ' ' && text[cut - 1] != ' ') return cut;
    return character_boundary(text, longest_stretch);
}

void Tokenizer::encode_stretch(std::string_view text, bool first_piece, uint64_t offset,
                               std::vector<EncodedToken>& out) const
{
    sentencepiece::ImmutableSentencePieceText pieces;
    if (!library_->at(first_piece).Encode(text, pieces.mutable_proto()).ok())
        throw Error(ErrorKind::Internal, "PAL-INTERNAL", "tokenizer",
                    "the sentencepiece library could not encode a text", "please report this");
    size_t at = 0;
    const size_t count = pieces.pieces_size();
    for (size_t i = 0; i < count; ++i) {
        const auto piece = pieces.pieces(static_cast<int>(i));
        const auto id = static_cast<TokenId>(piece.id());
        // The library gives a character's range to the last of its byte pieces; here each has its own byte.
        size_t end = std::clamp(static_cast<size_t>(piece.end()), at, text.size());
        if (end == at && at < text.size() && is_byte(id) && surface(id).front() == text[at]) ++end;
        if (i + 1 == count) end = text.size();
        append({id, offset + at, offset + end}, out);
        at = end;
    }
}

void Tokenizer::append(const EncodedToken& token, std::vector<EncodedToken>& out) const
{
    // A run of unknown characters is one piece, also across stretches.
    const bool goes_on =
        is_unknown(token.id) && !out.empty() && is_unknown(out.back().id) && out.back().end == token.begin;
    if (goes_on)
        out.back().end = token.end;
    else
        out.push_back(token);
}

} // namespace palimpsest::engine
