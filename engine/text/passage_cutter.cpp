#include "engine/text/passage_cutter.h"

#include <algorithm>
#include <utility>

namespace palimpsest::engine {
PassageCutter::Start PassageCutter::kind_of(Break found)
{
    return found == Break::Paragraph ? Start::Paragraph : found == Break::Sentence ? Start::Sentence : Start::Word;
}

void PassageCutter::push(std::string_view clean)
{
    for (const char byte : clean) {
        text_ += byte;
        decoder_.push(static_cast<unsigned char>(byte),
                      [this](char32_t character, size_t bytes, bool) { scan(character, bytes); });
    }
}

void PassageCutter::scan(char32_t character, size_t bytes)
{
    bool begins_heading = false;
    for (; next_heading_ < headings_.size() && headings_[next_heading_] <= scanned_; ++next_heading_) {
        found_.push_back({scanned_, Start::Heading});
        begins_heading = true;
    }
    if (const auto found = scanner_.push(character, begins_heading)) found_.push_back({scanned_, kind_of(*found)});
    scanned_ += bytes;
}

void PassageCutter::push(std::span<const uint64_t> token_ends)
{
    for (const uint64_t end : token_ends)
        add_token(end);
}

void PassageCutter::add_token(uint64_t end)
{
    for (; !found_.empty() && found_.front().byte < end; found_.pop_front())
        begin_with(found_.front().kind);
    if (tokens_ - first_ == max_tokens) cut_before(best_cut());
    token_ends_.push_back(end);
    ++tokens_;
}

// A passage may begin with the next token, because of what begins in it.
void PassageCutter::begin_with(Start kind)
{
    const bool is_empty = start_of(tokens_) == text_begin_; // it may have tokens without bytes
    const bool is_heading = kind == Start::Heading;
    if (is_heading ? !is_empty && !has_only_headings() : kind == Start::Paragraph && tokens_ - first_ >= min_tokens)
        cut_before(tokens_);
    else if (!is_empty && !is_heading)
        breaks_.push_back({tokens_, kind});
    if (!is_heading) return;
    ++section_;
    if (start_of(tokens_) == text_begin_) begins_with_heading_ = true;
}

bool PassageCutter::has_only_headings() const
{
    return begins_with_heading_ && std::none_of(breaks_.begin(), breaks_.end(),
                                                [](const TokenBreak& one) { return one.kind == Start::Paragraph; });
}

// Where to cut a passage that has become too long.
uint64_t PassageCutter::best_cut() const
{
    const TokenBreak* best = nullptr;
    for (const TokenBreak& one : breaks_)
        if (one.token - first_ >= min_tokens && (!best || one.kind >= best->kind)) best = &one;
    return best ? best->token : character_start(first_ + max_tokens);
}

// The last token, at or before this one, that begins with a character.
uint64_t PassageCutter::character_start(uint64_t token) const
{
    for (uint64_t at = token; at > first_ + 1; --at) {
        const uint64_t byte = start_of(at) - text_origin_;
        if (byte < text_.size() && !is_utf8_continuation(text_[byte])) return at;
    }
    return token;
}

uint64_t PassageCutter::start_of(uint64_t token) const
{
    return token == first_ ? text_begin_ : token_ends_[token - first_ - 1];
}

void PassageCutter::cut_before(uint64_t token)
{
    const uint64_t end = start_of(token), count = token - first_;
    complete_.push_back({.first_token = first_,
                         .end_token = token,
                         .first_byte = text_begin_,
                         .end_byte = end,
                         .section = section_,
                         .text = text_.substr(text_begin_ - text_origin_, end - text_begin_)});
    text_begin_ = end;
    forget_text();
    token_ends_.erase(token_ends_.begin(), token_ends_.begin() + static_cast<std::ptrdiff_t>(count));
    std::erase_if(breaks_, [&](const TokenBreak& one) { return one.token <= token; });
    first_ = token;
    begins_with_heading_ = false;
}

// Not with every passage: the text behind it, which is moved, may be a thousand times as long.
void PassageCutter::forget_text()
{
    const uint64_t past = text_begin_ - text_origin_;
    if (past < text_.size() / 2) return;
    text_.erase(0, past);
    text_origin_ = text_begin_;
}

void PassageCutter::finish()
{
    if (tokens_ > first_) cut_before(tokens_);
}

std::vector<Passage> PassageCutter::take()
{
    return std::exchange(complete_, {});
}

} // namespace palimpsest::engine
