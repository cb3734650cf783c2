// Encodes text with byte-pair merges. Divides it into windows (repaired to valid UTF-8), sections between added
// tokens, segments, and words (pre-tokens), and has merge_table.h merge the symbols of each word.
#include "engine/text/bpe/bpe_encoder.h"

#include <algorithm>
#include <cassert>

#include "engine/text/bpe/byte_alphabet.h"
#include "engine/text/unicode/utf8.h"
#include "engine/text/unicode/utf8_repair.h"
#include "kernels/base/error.h"
#include "kernels/base/printable.h"

namespace palimpsest::engine {
namespace {

constexpr char32_t space_mark_code = 0x2581;
constexpr std::string_view unknown_surface = " \xE2\x81\x87 "; // as in sentencepiece
// Bytes of a window: more than the longest stretch and the longest added token.
constexpr size_t window_bytes = 4 * longest_stretch;

enum WholeState : uint8_t { not_asked, is_whole, is_not_whole };

[[noreturn]] void refuse(const Text& what)
{
    throw Error(ErrorKind::Failed, ErrorCode::ModelG13, Text("tokenizer"), what, Text("download the model again"));
}

// The character of a text that has exactly one; empty for other texts.
std::optional<char32_t> only_character(std::string_view text)
{
    std::optional<char32_t> first;
    size_t count = 0;
    Utf8Decoder decoder;
    const auto take = [&](char32_t code, size_t, bool) {
        if (count++ == 0) first = code;
    };
    for (const char byte : text)
        decoder.push(static_cast<unsigned char>(byte), take);
    decoder.finish(take);
    return count == 1 ? first : std::nullopt;
}

// The Unicode property White_Space, which \s means in the tokenizers library.
bool is_white_space(char32_t code)
{
    return (code >= 0x09 && code <= 0x0D) || code == 0x20 || code == 0x85 || code == 0xA0 || code == 0x1680 ||
           (code >= 0x2000 && code <= 0x200A) || code == 0x2028 || code == 0x2029 || code == 0x202F ||
           code == 0x205F || code == 0x3000;
}

// The end of the white space that starts at `from`. REQUIRES: valid UTF-8.
size_t end_of_white_space(std::string_view text, size_t from)
{
    bool goes_on = true;
    Utf8Decoder decoder;
    for (size_t at = from; at < text.size() && goes_on; ++at)
        decoder.push(static_cast<unsigned char>(text[at]), [&](char32_t code, size_t size, bool) {
            goes_on = is_white_space(code);
            if (goes_on) from += size;
        });
    return from;
}

} // namespace

bool is_marker_spelling(std::string_view piece)
{
    constexpr std::string_view wide_bar = "\xEF\xBD\x9C"; // U+FF5C, in DeepSeek's markers
    const auto is_between = [&](std::string_view bar) {
        return piece.size() > 2 * bar.size() + 2 && piece.starts_with("<") && piece.ends_with(">") &&
               piece.substr(1).starts_with(bar) && piece.substr(0, piece.size() - 1).ends_with(bar);
    };
    return is_between("|") || is_between(wide_bar);
}

struct BpeEncoder::Encoding {
    std::vector<EncodedToken>* out = nullptr;
    PreTokenizer::WorkspaceHandle workspace;
    std::vector<size_t> ends;     // of pre-tokens
    std::vector<Symbol> symbols;  // of one pre-token
    uint32_t dropped = 0;         // unspellable bytes at the start of the word; they go to its first symbol
    uint64_t offset = 0;          // start of the window in the whole text
    bool is_repaired = false;     // the window is a copy in which invalid bytes are U+FFFD
    std::vector<uint32_t> source; // [byte of a repaired window] its offset in the window
    uint64_t covered = 0;         // start of the next token, dropped bytes before it included

    void emit(TokenId id, size_t end)
    {
        const uint64_t place = offset + (is_repaired ? source[end] : end);
        out->push_back({id, covered, place});
        covered = place;
    }
    void begin_word()
    {
        symbols.clear();
        dropped = 0;
    }
};

BpeEncoder::BpeEncoder(const Vocabulary& vocabulary)
    : is_bytes_(vocabulary.alphabet == Vocabulary::Alphabet::Bytes), ignore_merges_(vocabulary.ignore_merges),
      fuse_unknown_(vocabulary.fuse_unknown), add_space_prefix_(vocabulary.add_space_prefix && !is_bytes_),
      prefix_spares_spaces_(vocabulary.prefix_spares_spaces), unknown_(vocabulary.unknown),
      pieces_(vocabulary.pieces)
{
    assert(vocabulary.kind == Vocabulary::Kind::Bpe);
    check(vocabulary);
    if (is_bytes_ || !vocabulary.pre_tokenizer.empty()) pre_tokenizer_.emplace(vocabulary.pre_tokenizer);
    classify_pieces(vocabulary);
    std::vector<PieceMerge> merges = vocabulary.merges;
    // Drops merges into control pieces: with them, ordinary text could produce a token that only the program may
    // insert.
    std::erase_if(merges, [&](const PieceMerge& merge) { return kind(merge.result) == PieceKind::Control; });
    merges_.emplace(merges);
    read_pieces();
}

BpeEncoder::~BpeEncoder() = default;

void BpeEncoder::check(const Vocabulary& vocabulary) const
{
    const auto is_id = [&](TokenId id) { return id >= 0 && static_cast<size_t>(id) < pieces_.size(); };
    if (pieces_.empty()) refuse(Text("the vocabulary has no pieces"));
    if (vocabulary.types.size() != pieces_.size())
        refuse(Text("it has {0} pieces and {1} types", pieces_.size(), vocabulary.types.size()));
    for (const PieceMerge& merge : vocabulary.merges)
        if (!is_id(merge.left) || !is_id(merge.right) || !is_id(merge.result))
            refuse(Text("a merge names a piece that the vocabulary of {0} pieces does not have", pieces_.size()));
    if (unknown_ >= 0 && !is_id(unknown_)) refuse(Text("the unknown token's id is not in the vocabulary"));
}

void BpeEncoder::classify_pieces(const Vocabulary& vocabulary)
{
    std::vector<bool> is_made(pieces_.size()); // as the result of a merge
    for (const PieceMerge& merge : vocabulary.merges)
        is_made[static_cast<size_t>(merge.result)] = true;
    for (size_t id = 0; id < pieces_.size(); ++id) {
        const int32_t type = vocabulary.types[id];
        auto kind = type >= 1 && type <= 6 ? static_cast<PieceKind>(type - 1) : PieceKind::Unused;
        const auto token = static_cast<TokenId>(id);
        if (type == type_with_space_after) {
            kind = PieceKind::UserDefined;
            with_space_after_.insert(token);
        }
        const bool is_named = token == vocabulary.bos || token == vocabulary.eos || token == vocabulary.eot;
        const bool is_special = is_named || kind == PieceKind::Unknown || is_marker_spelling(pieces_[id]);
        const bool is_character = kind == PieceKind::Normal && only_character(pieces_[id]).has_value();
        if (vocabulary.add_bos && token == vocabulary.bos) {
            if (is_character || kind == PieceKind::Byte)
                refuse(Text("the token '{0}', which begins every text, is a character that any text may contain",
                            printable(pieces_[id])));
            kind = PieceKind::Control;
        } else if (token == unknown_ && !is_named)
            kind = PieceKind::Unknown;
        else if (is_special && kind != PieceKind::Byte && !is_made[id] && !is_character)
            kind = PieceKind::Control;
        kinds_.push_back(kind);
    }
    // Some files name an end of text as the unknown token; text must not produce it either.
    if (unknown_ >= 0 && kind(unknown_) != PieceKind::Unknown) unknown_ = -1;
}

void BpeEncoder::read_pieces()
{
    bytes_.fill(-1);
    surfaces_.resize(pieces_.size());
    whole_states_ = std::make_unique<std::atomic<uint8_t>[]>(pieces_.size());
    for (TokenId id = 0; id < size(); ++id) {
        const std::string& spelled = piece(id);
        const PieceKind kind = this->kind(id);
        std::string& surface = surfaces_[static_cast<size_t>(id)];
        if (!spelled.empty()) ids_.try_emplace(spelled, id);
        if (kind == PieceKind::Control || spelled.empty()) continue;
        if (kind == PieceKind::Byte) {
            surface = std::string(1, byte_value(spelled));
            bytes_[static_cast<unsigned char>(surface.front())] = id;
            continue;
        }
        if (kind == PieceKind::Unknown) {
            surface = unknown_surface;
            continue;
        }
        if (kind == PieceKind::UserDefined) {
            if (spelled.size() > AddedTokens::longest)
                refuse(Text("added token {0} has {1} bytes, the limit is {2}", id, spelled.size(),
                            AddedTokens::longest));
            surface = is_bytes_ ? spelled : with_spaces(spelled);
            added_.add(spelled, id); // matches U+2581, not spaces: merges make runs of spaces
            continue;
        }
        surface = is_bytes_ ? spelled_bytes(spelled).value_or(spelled) : with_spaces(spelled);
        if (kind != PieceKind::Normal) continue;
        if (is_bytes_) {
            if (!spelled_bytes(spelled)) continue; // such a piece never matches text
            if (surface.size() == 1) bytes_[static_cast<unsigned char>(surface[0])] = id;
            wholes_.try_emplace(surface, id);
        } else {
            if (const auto code = only_character(surface)) characters_.try_emplace(*code, id);
            cutter_.note_piece(spelled);
        }
    }
}

TokenId BpeEncoder::id(std::string_view piece) const
{
    const auto at = ids_.find(piece);
    return at == ids_.end() ? -1 : at->second;
}

size_t BpeEncoder::encode_prefix(std::string_view text, bool first_piece, bool at_end, uint64_t offset,
                                 std::vector<EncodedToken>& out) const
{
    Encoding state;
    state.out = &out;
    state.covered = offset;
    if (pre_tokenizer_) state.workspace = pre_tokenizer_->workspace();
    size_t done = 0;
    while (done < text.size()) {
        const std::string_view window = text.substr(done, window_bytes);
        const bool is_last = done + window.size() == text.size();
        const size_t taken =
            encode_window(window, first_piece && done == 0, at_end && is_last, offset + done, state);
        if (taken == 0) break;
        done += taken;
    }
    return done;
}

// Returns how many bytes of the window were encoded.
size_t BpeEncoder::encode_window(std::string_view window, bool first_piece, bool at_end, uint64_t offset,
                                 Encoding& state) const
{
    state.offset = offset;
    const Utf8Scan scan = scan_utf8(window);
    state.is_repaired = scan.is_broken || (at_end && scan.valid < window.size());
    if (!state.is_repaired) return encode_text(window.substr(0, scan.valid), first_piece, at_end, state);

    RepairedText repaired = repair_utf8(window, at_end);
    state.source = std::move(repaired.source);
    const size_t taken = encode_text(repaired.text, first_piece, at_end, state);
    return state.source[taken];
}

// Splits the text at added tokens, and returns how many bytes were encoded. REQUIRES: valid UTF-8.
size_t BpeEncoder::encode_text(std::string_view text, bool first_piece, bool complete, Encoding& state) const
{
    size_t done = 0;
    while (done < text.size()) {
        const AddedTokens::Place added = added_.find(text, done, complete);
        const bool ends = added.id >= 0 || (complete && added.begin == text.size());
        const std::string_view section = text.substr(done, added.begin - done);
        const size_t taken = encode_section(section, first_piece && done == 0, ends, done, state);
        done += taken;
        if (taken < section.size() || added.id < 0) break;
        const size_t end = end_of_added(text, added);
        if (end == text.size() && end > added.end && !complete && end - added.end < longest_stretch) break;
        state.emit(added.id, end);
        done = end;
    }
    return done;
}

// The end of an added token, including the white space that it absorbs.
size_t BpeEncoder::end_of_added(std::string_view text, const AddedTokens::Place& added) const
{
    if (!with_space_after_.contains(added.id)) return added.end;
    const size_t end = end_of_white_space(text, added.end);
    if (end - added.end < longest_stretch) return end;
    return added.end + longest_stretch == text.size() ? text.size()
                                                      : character_boundary(text, added.end + longest_stretch);
}

size_t BpeEncoder::encode_section(std::string_view text, bool first_piece, bool complete, size_t begin,
                                  Encoding& state) const
{
    size_t done = 0;
    while (done < text.size()) {
        const std::string_view rest = text.substr(done);
        const size_t size = next_segment(rest, complete, state);
        if (size == 0) break;
        encode_segment(rest.substr(0, size), first_piece && done == 0, begin + done, state);
        done += size;
    }
    return done;
}

// The size of the next segment in bytes; 0 if it depends on text to come. A result other than 0 is independent of
// how much text follows.
size_t BpeEncoder::next_segment(std::string_view text, bool complete, Encoding& state) const
{
    if (!pre_tokenizer_) return cutter_.next(text, complete);
    const bool is_limited = text.size() > longest_stretch;
    const size_t visible = is_limited ? character_boundary(text, longest_stretch) : text.size();
    const size_t size =
        pre_tokenizer_->next_segment(text.substr(0, visible), complete && !is_limited, *state.workspace);
    if (size > 0 || !is_limited) return size;
    const size_t cut = cut_by_rule(text);
    return pre_tokenizer_->next_segment(text.substr(0, cut), true, *state.workspace);
}

void BpeEncoder::encode_segment(std::string_view segment, bool first_piece, size_t begin, Encoding& state) const
{
    if (!pre_tokenizer_) return encode_word(segment, first_piece, begin, state);
    state.ends.clear();
    pre_tokenizer_->split(segment, *state.workspace, state.ends);
    size_t at = 0;
    for (const size_t end : state.ends) {
        encode_word(segment.substr(at, end - at), first_piece && at == 0, begin + at, state);
        at = end;
    }
}

void BpeEncoder::encode_word(std::string_view word, bool first_piece, size_t begin, Encoding& state) const
{
    if (const TokenId whole = whole_piece(word, state); whole >= 0) return state.emit(whole, begin + word.size());
    state.begin_word();
    take_symbols(word, first_piece, state);
    merges_->apply(state.symbols);
    begin += state.dropped;
    for (const Symbol& symbol : state.symbols) {
        begin += symbol.bytes;
        state.emit(symbol.id, begin);
    }
}

// The piece that the whole pre-token becomes, or -1 if it must be merged from symbols. Most become one piece.
TokenId BpeEncoder::whole_piece(std::string_view word, Encoding& state) const
{
    const auto at = wholes_.find(word);
    if (at == wholes_.end()) return -1;
    return ignore_merges_ || encodes_to_itself(at->second, state) ? at->second : -1;
}

bool BpeEncoder::encodes_to_itself(TokenId id, Encoding& state) const
{
    std::atomic<uint8_t>& known = whole_states_[static_cast<size_t>(id)];
    uint8_t answer = known.load(std::memory_order_relaxed);
    if (answer == not_asked) {
        state.begin_word();
        take_symbols(surfaces_[static_cast<size_t>(id)], false, state);
        merges_->apply(state.symbols);
        answer = state.symbols.size() == 1 && state.symbols.front().id == id ? is_whole : is_not_whole;
        known.store(answer, std::memory_order_relaxed);
    }
    return answer == is_whole;
}

void BpeEncoder::take_symbols(std::string_view word, bool first_piece, Encoding& state) const
{
    if (is_bytes_) {
        for (const char byte : word)
            take_byte(byte, state);
        return;
    }
    const bool has_prefix = first_piece && add_space_prefix_ &&
                            !(prefix_spares_spaces_ && (word.starts_with(' ') || word.starts_with(space_mark)));
    const auto space = characters_.find(' ');
    if (has_prefix && space != characters_.end()) state.symbols.push_back({space->second, 0});
    take_characters(word, state);
}

void BpeEncoder::take_characters(std::string_view word, Encoding& state) const
{
    size_t at = 0;
    Utf8Decoder decoder;
    const auto take = [&](char32_t code, size_t size, bool) {
        const std::string_view bytes = word.substr(at, size);
        at += size;
        // As in sentencepiece, U+2581 in a text counts as a space.
        const auto character = characters_.find(code == space_mark_code ? U' ' : code);
        if (character != characters_.end()) {
            state.symbols.push_back({character->second, static_cast<uint32_t>(size)});
            return;
        }
        const bool has_bytes = std::all_of(
            bytes.begin(), bytes.end(), [&](char byte) { return bytes_[static_cast<unsigned char>(byte)] >= 0; });
        if (!has_bytes) return take_unknown(static_cast<uint32_t>(size), state);
        for (const char byte : bytes)
            take_byte(byte, state);
    };
    for (const char byte : word)
        decoder.push(static_cast<unsigned char>(byte), take);
}

void BpeEncoder::take_byte(char byte, Encoding& state) const
{
    const TokenId id = bytes_[static_cast<unsigned char>(byte)];
    if (id >= 0)
        state.symbols.push_back({id, 1});
    else
        take_unknown(1, state);
}

// Takes bytes that the vocabulary cannot spell. They become the unknown token; if the vocabulary has none, they
// count to the token before them, or, at the start of a word, to the token after them.
void BpeEncoder::take_unknown(uint32_t bytes, Encoding& state) const
{
    const bool goes_on =
        !state.symbols.empty() && (unknown_ < 0 || (fuse_unknown_ && state.symbols.back().id == unknown_));
    if (goes_on)
        state.symbols.back().bytes += bytes;
    else if (unknown_ >= 0)
        state.symbols.push_back({unknown_, bytes});
    else
        state.dropped += bytes;
}

} // namespace palimpsest::engine
