#include "engine/text/passage_finder.h"

#include "kernels/base/error.h"

namespace palimpsest::engine {
namespace {

bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

// Collapses white space to single spaces, and removes it at both ends.
std::string spaced(std::string_view text)
{
    std::string out;
    for (const char c : text) {
        if (!is_space(c))
            out += c;
        else if (!out.empty() && out.back() != ' ')
            out += ' ';
    }
    if (!out.empty() && out.back() == ' ') out.pop_back();
    return out;
}

std::string as_read(const Tokenizer& tokenizer, std::string_view text)
{
    IncrementalDetokenizer detokenizer(tokenizer, false);
    std::string out;
    for (const TokenId id : tokenizer.encode(text, false))
        out += detokenizer.push(id);
    return spaced(out + detokenizer.finish());
}

} // namespace

PassageFinder::PassageFinder(const Tokenizer& tokenizer, std::string_view passage)
    : detokenizer_(tokenizer, false), pattern_(as_read(tokenizer, passage)), failure_(pattern_.size(), 0),
      owners_(pattern_.size(), 0)
{
    if (pattern_.empty())
        throw Error(ErrorKind::Usage, ErrorCode::InvalidPin, Text(Setting::Pin), Text("the passage is blank"),
                    Text("give some of the text, or token numbers such as 0-99"));
    for (size_t i = 1, border = 0; i < pattern_.size(); ++i) {
        while (border > 0 && pattern_[i] != pattern_[border])
            border = failure_[border - 1];
        if (pattern_[i] == pattern_[border]) ++border;
        failure_[i] = border;
    }
}

void PassageFinder::push(TokenId id)
{
    const std::string text = detokenizer_.push(id);
    for (const char c : text)
        take(c);
    ++tokens_;
    if (!text.empty()) text_begin_ = tokens_;
}

void PassageFinder::skip(uint64_t tokens)
{
    if (tokens == 0) return;
    tokens_ += static_cast<uint32_t>(tokens);
    text_begin_ = tokens_;
    matched_ = 0;
    after_space_ = true;
}

void PassageFinder::take(char c)
{
    const bool space = is_space(c);
    if (!space || !after_space_) step(space ? ' ' : c);
    after_space_ = space;
}

void PassageFinder::step(char c)
{
    owners_[characters_ % owners_.size()] = text_begin_;
    ++characters_;
    while (matched_ > 0 && pattern_[matched_] != c)
        matched_ = failure_[matched_ - 1];
    if (pattern_[matched_] == c) ++matched_;
    if (matched_ < pattern_.size()) return;
    if (++matches_ == 1) found_ = TokenRange{owners_[characters_ % owners_.size()], tokens_ + 1};
    matched_ = failure_[matched_ - 1];
}

} // namespace palimpsest::engine
