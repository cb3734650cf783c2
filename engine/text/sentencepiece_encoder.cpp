#include "engine/text/sentencepiece_encoder.h"

#include <sentencepiece_processor.h>

#include <algorithm>

#include "engine/text/sentencepiece_model.h"
#include "engine/text/unicode/utf8_repair.h"
#include "kernels/base/error.h"

namespace palimpsest::engine {
namespace {

using sentencepiece::SentencePieceProcessor;

std::unique_ptr<SentencePieceProcessor> load(std::string_view model)
{
    const Error refused(ErrorKind::Failed, ErrorCode::ModelG13, Text("tokenizer"),
                        Text("the sentencepiece library does not accept it"), Text("download the model again"));
    auto processor = std::make_unique<SentencePieceProcessor>();
    try {
        if (!processor->LoadFromSerializedProto(model).ok()) throw refused;
    } catch (const Error&) {
        throw;
    } catch (const std::exception&) { // the trie throws on invalid keys
        throw refused;
    }
    return processor;
}

} // namespace

class SentencepieceEncoder::Library {
public:
    explicit Library(std::string_view model)
        : traits(check_sentencepiece_model(model)), later(load(without_dummy_prefix(model)))
    {
        if (traits.add_dummy_prefix) first = load(model);
    }

    const SentencePieceProcessor& at(bool first_piece) const { return first_piece && first ? *first : *later; }

    SentencepieceTraits traits;
    std::unique_ptr<SentencePieceProcessor> first; // adds the dummy prefix; null: `later` serves for all text
    std::unique_ptr<SentencePieceProcessor> later;
};

SentencepieceEncoder::SentencepieceEncoder(const Vocabulary& vocabulary)
    : library_(std::make_unique<Library>(
          vocabulary.kind == Vocabulary::Kind::SpmModel ? vocabulary.model : sentencepiece_model(vocabulary)))
{
    unknown_ = library_->later->unk_id();
    for (TokenId id = 0; id < size(); ++id) {
        const PieceKind kind = this->kind(id);
        if (kind == PieceKind::Normal || kind == PieceKind::UserDefined || kind == PieceKind::Unused)
            cutter_.note_piece(piece(id));
    }
}

SentencepieceEncoder::~SentencepieceEncoder() = default;

int32_t SentencepieceEncoder::size() const
{
    return library_->later->GetPieceSize();
}

const std::string& SentencepieceEncoder::piece(TokenId id) const
{
    return library_->later->IdToPiece(id);
}

PieceKind SentencepieceEncoder::kind(TokenId id) const
{
    const SentencePieceProcessor& library = *library_->later;
    if (library.IsControl(id)) return PieceKind::Control;
    if (library.IsUnknown(id)) return PieceKind::Unknown;
    if (library.IsByte(id)) return PieceKind::Byte;
    return library.IsUnused(id) ? PieceKind::Unused : PieceKind::Normal;
}

std::string SentencepieceEncoder::surface(TokenId id) const
{
    switch (kind(id)) {
    case PieceKind::Control:
        return {};
    case PieceKind::Unknown:
        return library_->traits.unknown_surface;
    case PieceKind::Byte:
        return std::string(1, byte_value(piece(id)));
    default:
        return with_spaces(piece(id));
    }
}

TokenId SentencepieceEncoder::id(std::string_view piece) const
{
    const TokenId id = library_->later->PieceToId(piece);
    return id >= 0 && this->piece(id) == piece ? id : -1;
}

bool SentencepieceEncoder::adds_space_prefix() const
{
    return library_->first != nullptr;
}

TokenId SentencepieceEncoder::bos() const
{
    return library_->later->bos_id();
}

TokenId SentencepieceEncoder::eos() const
{
    return library_->later->eos_id();
}

size_t SentencepieceEncoder::encode_prefix(std::string_view text, bool first_piece, bool at_end, uint64_t offset,
                                           std::vector<EncodedToken>& out) const
{
    size_t done = 0;
    while (done < text.size()) {
        const size_t cut = cutter_.next(text.substr(done), at_end);
        if (cut == 0) break;
        encode_stretch(text.substr(done, cut), first_piece && done == 0, offset + done, out);
        done += cut;
    }
    return done;
}

// The library reads every invalid byte as a U+FFFD of its own. Here, as in BpeEncoder, every maximal invalid
// subpart (utf8.h) becomes one U+FFFD.
void SentencepieceEncoder::encode_stretch(std::string_view text, bool first_piece, uint64_t offset,
                                          std::vector<EncodedToken>& out) const
{
    if (scan_utf8(text).valid == text.size()) return encode_valid(text, first_piece, offset, {}, out);
    const RepairedText repaired = repair_utf8(text, true);
    encode_valid(repaired.text, first_piece, offset, repaired.source, out);
}

void SentencepieceEncoder::encode_valid(std::string_view text, bool first_piece, uint64_t offset,
                                        std::span<const uint32_t> source, std::vector<EncodedToken>& out) const
{
    const auto place = [&](size_t at) { return offset + (source.empty() ? at : source[at]); };
    sentencepiece::ImmutableSentencePieceText pieces;
    if (!library_->at(first_piece).Encode(text, pieces.mutable_proto()).ok())
        throw Error(ErrorKind::Internal, ErrorCode::Internal, Text("tokenizer"),
                    Text("the sentencepiece library could not encode a text"), Text("report this as a bug"));
    size_t at = 0;
    const size_t count = pieces.pieces_size();
    for (size_t i = 0; i < count; ++i) {
        const auto encoded = pieces.pieces(static_cast<int>(i));
        const auto id = static_cast<TokenId>(encoded.id());
        // The library gives all bytes of a character to the last of its byte pieces; here each piece gets its own
        // byte.
        size_t end = std::clamp(static_cast<size_t>(encoded.end()), at, text.size());
        if (end == at && at < text.size() && kind(id) == PieceKind::Byte && byte_value(piece(id)) == text[at])
            ++end;
        if (i + 1 == count) end = text.size();
        append({id, place(at), place(end)}, out);
        at = end;
    }
}

void SentencepieceEncoder::append(const EncodedToken& token, std::vector<EncodedToken>& out) const
{
    // A run of unknown characters is one piece, even across stretches.
    const bool goes_on =
        token.id == unknown_ && !out.empty() && out.back().id == unknown_ && out.back().end == token.begin;
    if (goes_on)
        out.back().end = token.end;
    else
        out.push_back(token);
}

} // namespace palimpsest::engine
