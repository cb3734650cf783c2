#include "engine/encoder/word_piece.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "engine/text/unicode/utf8.h"

namespace palimpsest::engine {
namespace {

size_t characters_of(std::string_view text)
{
    return static_cast<size_t>(
        std::count_if(text.begin(), text.end(), [](char byte) { return !is_utf8_continuation(byte); }));
}

size_t longest_of(const WordPieceVocabulary::Pieces& pieces)
{
    size_t longest = 0;
    for (const auto& [piece, id] : pieces)
        longest = std::max(longest, characters_of(piece));
    return longest;
}

} // namespace

WordPiece::WordPiece(WordPieceVocabulary vocabulary)
    : vocabulary_(std::move(vocabulary)),
      longest_piece_(std::max(longest_of(vocabulary_.starts), longest_of(vocabulary_.continuations)))
{
}

// Collects the characters of a word, and appends its ids when it ends.
class WordPiece::Encoding {
public:
    Encoding(const WordPiece& pieces, size_t most) : pieces_(pieces), v_(pieces.vocabulary_), most_(most)
    {
        ids_.push_back(v_.begin);
    }

    bool is_full() const { return ids_.size() + 1 >= most_; }

    void read(char32_t code)
    {
        for (const char32_t normal : normalize_for_bert(code, v_.normalization)) {
            const bool is_space = is_bert_space(normal), is_mark = !is_space && is_bert_punctuation(normal);
            if (is_space || is_mark) end_word();
            if (!is_space) append(normal);
            if (is_mark) end_word();
        }
    }

    std::vector<TokenId> finish()
    {
        end_word();
        if (ids_.size() >= most_) ids_.resize(most_ - 1);
        ids_.push_back(v_.end);
        return std::move(ids_);
    }

private:
    size_t longest_word() const { return static_cast<size_t>(v_.longest_word); }

    void append(char32_t code)
    {
        if (ends_.size() > longest_word()) return; // the word is too long already
        append_utf8(code, word_);
        ends_.push_back(word_.size());
    }

    void end_word()
    {
        if (ends_.empty()) return;
        const size_t before = ids_.size();
        if (ends_.size() > longest_word() || !append_pieces()) {
            ids_.resize(before);
            ids_.push_back(v_.unknown);
        }
        word_.clear();
        ends_.clear();
    }

    // Returns false if the pieces do not spell the word.
    bool append_pieces()
    {
        for (size_t at = 0; at < ends_.size();) {
            const auto& pieces = at == 0 ? v_.starts : v_.continuations;
            const size_t begin = at == 0 ? 0 : ends_[at - 1];
            size_t next = std::min(ends_.size(), at + pieces_.longest_piece_);
            auto found = pieces.end();
            for (; next > at; --next) {
                found = pieces.find(std::string_view(word_).substr(begin, ends_[next - 1] - begin));
                if (found != pieces.end()) break;
            }
            if (next == at) return false;
            ids_.push_back(found->second);
            at = next;
        }
        return true;
    }

    const WordPiece& pieces_;
    const WordPieceVocabulary& v_;
    const size_t most_;
    std::vector<TokenId> ids_;
    std::string word_;
    std::vector<size_t> ends_; // of its characters, in bytes
};

std::vector<TokenId> WordPiece::encode(std::string_view text, int32_t most) const
{
    assert(most >= 2);
    Encoding encoding(*this, static_cast<size_t>(most));
    Utf8Decoder decoder;
    const auto read = [&](char32_t code, size_t, bool) { encoding.read(code); };
    for (size_t at = 0; at < text.size() && !encoding.is_full(); ++at)
        decoder.push(static_cast<unsigned char>(text[at]), read);
    decoder.finish(read);
    return encoding.finish();
}

} // namespace palimpsest::engine
