#include "engine/text/passage_cutter.h"

#include <algorithm>
#include <utf8proc.h>
#include <utility>

namespace palimpsest::engine {
namespace {

utf8proc_category_t category(char32_t character)
{
    return utf8proc_category(static_cast<utf8proc_int32_t>(character));
}

bool is_white_space(char32_t character)
{
    constexpr std::u32string_view controls = U" \t\n\r\f\v";
    return controls.find(character) != controls.npos || category(character) == UTF8PROC_CATEGORY_ZS;
}

// Full stop, exclamation mark and question mark of Chinese and Japanese: no space follows them.
bool is_wide_stop(char32_t character)
{
    constexpr std::u32string_view stops = U"\u3002\uFF01\uFF1F";
    return stops.find(character) != stops.npos;
}

bool ends_sentence(char32_t character)
{
    constexpr std::u32string_view stops = U".!?\u2026\u061F\u0964";
    return stops.find(character) != stops.npos || is_wide_stop(character);
}

// Quotation marks and brackets that may stand between the end of a sentence and the next.
bool closes(char32_t character)
{
    const auto kind = category(character);
    return character == U'"' || character == U'\'' || kind == UTF8PROC_CATEGORY_PE || kind == UTF8PROC_CATEGORY_PF;
}

bool is_lower_case(char32_t character)
{
    return category(character) == UTF8PROC_CATEGORY_LL;
}

} // namespace

void PassageCutter::push(std::string_view clean)
{
    for (const char byte : clean) {
        text_ += byte;
        decoder_.push(static_cast<unsigned char>(byte),
                      [this](char32_t character, size_t bytes, bool) { scan(character, bytes); });
    }
}

// Finds breaks in front of a heading, of a character that follows white space, and of one that follows a wide stop.
void PassageCutter::scan(char32_t character, size_t bytes)
{
    const bool is_space = is_white_space(character);
    bool is_heading = false;
    for (; next_heading_ < headings_.size() && headings_[next_heading_] <= scanned_; ++next_heading_) {
        found_.push_back({scanned_, Break::Heading});
        is_heading = in_heading_ = true;
    }
    if (!is_heading && !is_space && after_space_) {
        const bool begins_paragraph = line_ends_ > (in_heading_ ? 0 : 1);
        const bool begins_sentence = after_sentence_ && !is_lower_case(character);
        in_heading_ = in_heading_ && !begins_paragraph;
        found_.push_back({scanned_, begins_paragraph  ? Break::Paragraph
                                    : begins_sentence ? Break::Sentence
                                                      : Break::Word});
    } else if (!is_heading && !is_space && after_wide_stop_ && !closes(character)) {
        found_.push_back({scanned_, Break::Sentence});
    }
    if (is_space) {
        line_ends_ = (after_space_ ? line_ends_ : 0) + (character == U'\n' ? 1 : 0);
    } else if (ends_sentence(character)) {
        after_sentence_ = true;
        after_wide_stop_ = is_wide_stop(character);
    } else if (after_space_ || !closes(character)) {
        after_sentence_ = after_wide_stop_ = false;
    }
    after_space_ = is_space;
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
void PassageCutter::begin_with(Break kind)
{
    const bool is_empty = start_of(tokens_) == text_begin_; // it may have tokens without bytes
    const bool is_heading = kind == Break::Heading;
    if (is_heading ? !is_empty && !has_only_headings() : kind == Break::Paragraph && tokens_ - first_ >= min_tokens)
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
                                                [](const TokenBreak& one) { return one.kind == Break::Paragraph; });
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
