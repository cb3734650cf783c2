#include "engine/text/passage_cutter.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace palimpsest::engine {
namespace {

bool is_white_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v';
}

bool is_lower_case(char c)
{
    return c >= 'a' && c <= 'z';
}

bool continues_character(char c)
{
    return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

// Ideographic full stop, exclamation mark and question mark: no space follows them.
constexpr std::string_view wide_stops[] = {"\u3002", "\uFF01", "\uFF1F"};

bool ends_with_wide_stop(std::string_view text)
{
    return std::any_of(std::begin(wide_stops), std::end(wide_stops),
                       [&](auto stop) { return text.ends_with(stop); });
}

// Whether the text, without white space and closing quotation marks and brackets at its end, ends with a full stop,
// exclamation mark or question mark.
bool ends_sentence(std::string_view text)
{
    constexpr std::string_view closing[] = {"\"", "'", ")", "]", "\u201D", "\u2019", "\u00BB"};
    while (!text.empty() && is_white_space(text.back()))
        text.remove_suffix(1);
    for (bool is_closed = true; is_closed;) {
        const auto mark =
            std::find_if(std::begin(closing), std::end(closing), [&](auto one) { return text.ends_with(one); });
        is_closed = mark != std::end(closing);
        if (is_closed) text.remove_suffix(mark->size());
    }
    return !text.empty() && std::string_view(".!?\u2026").find(text.back()) != std::string_view::npos;
}

} // namespace

void PassageCutter::push(std::string_view clean)
{
    for (const char c : clean)
        scan(c);
}

// Finds places in front of a heading, of a character that follows white space, and of one that follows a wide stop.
void PassageCutter::scan(char c)
{
    if (next_heading_ < headings_.size() && headings_[next_heading_] <= scanned_) {
        found_.push_back({scanned_, Break::Heading});
        ++next_heading_;
    } else if (!is_white_space(c) && after_space_) {
        found_.push_back({scanned_, break_before(c)});
    } else if (!is_white_space(c) && !continues_character(c) && ends_with_wide_stop(text_)) {
        found_.push_back({scanned_, Break::Sentence});
    }
    if (!is_white_space(c) || !after_space_) line_ends_ = 0;
    if (c == '\n') ++line_ends_;
    after_space_ = is_white_space(c);
    text_ += c;
    ++scanned_;
}

// What a character that follows white space begins.
PassageCutter::Break PassageCutter::break_before(char c) const
{
    if (line_ends_ > 1) return Break::Paragraph;
    return !is_lower_case(c) && ends_sentence(text_) ? Break::Sentence : Break::Word;
}

void PassageCutter::push(std::span<const uint64_t> token_ends)
{
    for (const uint64_t end : token_ends)
        add_token(end);
}

void PassageCutter::add_token(uint64_t end)
{
    size_t count = 0;
    for (; count < found_.size() && found_[count].at < end; ++count)
        begin_at({tokens_, found_[count].kind});
    found_.erase(found_.begin(), found_.begin() + static_cast<std::ptrdiff_t>(count));
    if (tokens_ - first_ == max_tokens) cut_before(best_cut());
    token_ends_.push_back(end);
    ++tokens_;
}

// A passage may begin at this token, which has not been added yet.
void PassageCutter::begin_at(const Place& place)
{
    const uint64_t size = place.at - first_;
    const bool is_heading = place.kind == Break::Heading;
    if (is_heading || (place.kind == Break::Paragraph && size >= min_tokens)) {
        if (size > 0) cut_before(place.at);
    } else if (size > 0) {
        breaks_.push_back(place);
    }
    if (is_heading) ++section_;
}

// Where to cut a passage that has become too long.
uint64_t PassageCutter::best_cut() const
{
    const Place* best = nullptr;
    for (const Place& place : breaks_)
        if (place.at - first_ >= min_tokens && (!best || place.kind >= best->kind)) best = &place;
    return best ? best->at : character_start(first_ + max_tokens);
}

// The last token, at or before this one, that begins with a character.
uint64_t PassageCutter::character_start(uint64_t token) const
{
    for (uint64_t at = token; at > first_ + 1; --at) {
        const uint64_t byte = start_of(at) - text_begin_;
        if (byte < text_.size() && !continues_character(text_[byte])) return at;
    }
    return token;
}

uint64_t PassageCutter::start_of(uint64_t token) const
{
    return token == first_ ? text_begin_ : token_ends_[token - first_ - 1];
}

void PassageCutter::cut_before(uint64_t token)
{
    const uint64_t end = start_of(token), bytes = end - text_begin_, count = token - first_;
    complete_.push_back({.first_token = first_,
                         .end_token = token,
                         .first_byte = text_begin_,
                         .end_byte = end,
                         .section = section_,
                         .text = text_.substr(0, bytes)});
    text_.erase(0, bytes);
    text_begin_ = end;
    token_ends_.erase(token_ends_.begin(), token_ends_.begin() + static_cast<std::ptrdiff_t>(count));
    std::erase_if(breaks_, [&](const Place& place) { return place.at <= token; });
    first_ = token;
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
