#include "engine/text/section_finder.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace palimpsest::engine {
namespace {

constexpr size_t most_line_bytes = 256;
constexpr size_t most_title_bytes = 200;
constexpr size_t most_headings = 10000;
constexpr size_t longest_plain_heading = 80;
constexpr size_t longest_capitals = 60;

bool is_blank_character(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

std::string_view trim(std::string_view text)
{
    while (!text.empty() && is_blank_character(text.front()))
        text.remove_prefix(1);
    while (!text.empty() && is_blank_character(text.back()))
        text.remove_suffix(1);
    return text;
}

bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

bool is_ascii_digit(char c)
{
    return c >= '0' && c <= '9';
}

std::string lower(std::string_view text)
{
    std::string out(text);
    std::transform(out.begin(), out.end(), out.begin(),
                   [](char c) { return is_upper(c) ? char(c - 'A' + 'a') : c; });
    return out;
}

std::string_view take_word(std::string_view& text)
{
    const size_t end = std::min(text.find_first_of(" .:\t"), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(end);
    return word;
}

bool is_number(std::string_view word)
{
    constexpr std::array words = {"one",     "two",     "three",     "four",     "five",     "six",      "seven",
                                  "eight",   "nine",    "ten",       "eleven",   "twelve",   "thirteen", "fourteen",
                                  "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty",   "first",
                                  "second",  "third",   "fourth",    "fifth",    "sixth",    "seventh",  "eighth",
                                  "ninth",   "tenth",   "last"};
    constexpr size_t longest_roman = 15, longest_arabic = 4;
    if (word.empty()) return false;
    if (std::all_of(word.begin(), word.end(), is_ascii_digit)) return word.size() <= longest_arabic;
    if (word.find_first_not_of("IVXLCDM") == word.npos || word.find_first_not_of("ivxlcdm") == word.npos)
        return word.size() <= longest_roman;
    const std::string small = lower(word);
    return std::any_of(words.begin(), words.end(), [&](const char* w) { return small == w; });
}

bool is_part_name(std::string_view word)
{
    for (const char* name : {"chapter", "book", "part", "volume"}) {
        const std::string_view rest = word.empty() ? word : word.substr(1);
        const bool written =
            !word.empty() && is_upper(word[0]) &&
            (std::all_of(rest.begin(), rest.end(), is_upper) || std::all_of(rest.begin(), rest.end(), is_lower));
        if (written && lower(word) == name) return true;
    }
    return false;
}

enum class Chapter { No, Bare, Titled };

// "Chapter 4", "CHAPTER IV.", "Book the First: Recalled to Life"; not "Part two of the plan".
Chapter chapter_of(std::string_view text)
{
    if (text.size() > longest_plain_heading || !is_part_name(take_word(text))) return Chapter::No;
    text = trim(text);
    std::string_view after = text;
    if (lower(take_word(after)) == "the") text = trim(after);
    if (!is_number(take_word(text))) return Chapter::No;
    const bool closed = !text.empty() && (text[0] == '.' || text[0] == ':');
    if (closed) text.remove_prefix(1);
    text = trim(text);
    if (text.empty()) return Chapter::Bare;
    for (const char* dash : {"-", "\xe2\x80\x93", "\xe2\x80\x94"})
        if (text.starts_with(dash)) return Chapter::Titled;
    return closed ? Chapter::Titled : Chapter::No;
}

bool in_capitals(std::string_view text)
{
    if (text.empty() || text.size() > longest_capitals || !is_upper(text.front())) return false;
    if (std::any_of(text.begin(), text.end(), is_lower)) return false;
    if (std::string_view("!?,;:\"").find(text.back()) != std::string_view::npos) return false;
    return std::count_if(text.begin(), text.end(), is_upper) >= 4;
}

size_t run_of(std::string_view text, char c)
{
    return std::min(text.find_first_not_of(c), text.size());
}

// The line without its indentation; nullopt if it is indented as code.
std::optional<std::string_view> unindented(std::string_view text)
{
    const size_t spaces = run_of(text, ' ');
    if (spaces > 3 || text.substr(spaces).starts_with('\t')) return std::nullopt;
    return text.substr(spaces);
}

// The title of "## Title ##"; empty for other lines.
std::string_view atx_title(std::string_view text)
{
    const size_t level = run_of(text, '#');
    if (level < 1 || level > 6 || level == text.size() || !is_blank_character(text[level])) return {};
    std::string_view title = trim(text.substr(level));
    std::string_view without = title;
    while (without.ends_with('#'))
        without.remove_suffix(1);
    if (without.empty() || is_blank_character(without.back())) title = trim(without);
    return title;
}

bool is_underline(std::string_view text)
{
    text = trim(text);
    return !text.empty() && (text[0] == '=' || text[0] == '-') && run_of(text, text[0]) == text.size();
}

// Whether an underline can make the text a heading: false for lists, quotations, tables, comments and rules.
bool may_be_underlined(std::string_view text)
{
    if (text.empty() || text.find('|') != text.npos) return false;
    if (std::string_view("-*+><=_`~#").find(text[0]) != std::string_view::npos) return false;
    const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    const bool numbered = digits > 0 && digits + 1 < text.size() && (text[digits] == '.' || text[digits] == ')') &&
                          is_blank_character(text[digits + 1]);
    return !numbered;
}

std::string cut_title(std::string_view title)
{
    if (title.size() <= most_title_bytes) return std::string(title);
    size_t end = most_title_bytes;
    while (end > 0 && (static_cast<unsigned char>(title[end]) & 0xC0) == 0x80)
        --end;
    return std::string(title.substr(0, end));
}

} // namespace

std::string_view SectionFinder::Line::trimmed() const
{
    return trim(text);
}

void SectionFinder::add(int level, std::string_view title, uint64_t first_byte)
{
    if (noted_ == most_headings) return;
    ++noted_;
    found_.push_back({level, cut_title(title), first_byte, 0});
}

void SectionFinder::push(std::string_view clean)
{
    if (markup_ == Markup::Given) return;
    while (!clean.empty()) {
        const size_t end = clean.find('\n');
        const std::string_view part = clean.substr(0, end);
        const size_t room = most_line_bytes - line_.text.size();
        line_.text += part.substr(0, room);
        line_.overlong = line_.overlong || part.size() > room;
        bytes_ += part.size();
        if (end == clean.npos) return;
        ++bytes_;
        end_line();
        clean.remove_prefix(end + 1);
    }
}

void SectionFinder::end_line()
{
    markup_ == Markup::Markdown ? judge_markdown() : judge_plain();
    const bool gap = line_.blank() || line_.is_heading;
    std::swap(before_, line_);
    line_.text.clear();
    line_.begin = bytes_;
    line_.token.reset();
    line_.after_gap = gap;
    line_.overlong = line_.waits = line_.is_heading = false;
}

void SectionFinder::judge_plain()
{
    if (before_.waits && line_.blank()) note(before_, 1, before_.trimmed());
    if (!line_.after_gap || line_.overlong) return;
    const Chapter chapter = chapter_of(line_.trimmed());
    if (chapter == Chapter::Bare) return note(line_, 1, line_.trimmed());
    line_.waits = chapter == Chapter::Titled || in_capitals(line_.trimmed());
}

void SectionFinder::judge_markdown()
{
    if (in_fence() || line_.overlong) return;
    const auto text = unindented(line_.text);
    if (!text) return;
    if (const std::string_view title = atx_title(*text); !title.empty())
        return note(line_, static_cast<int>(run_of(*text, '#')), title);
    if (before_.waits && is_underline(*text)) {
        note(before_, trim(*text)[0] == '=' ? 1 : 2, before_.trimmed());
        line_.is_heading = true;
        return;
    }
    line_.waits = line_.after_gap && may_be_underlined(trim(*text));
}

// Whether the line is in a code block, including its first and last line.
bool SectionFinder::in_fence()
{
    const auto text = unindented(line_.text);
    const char mark = text && !text->empty() ? text->front() : '\0';
    const size_t length = text ? run_of(*text, mark) : 0;
    if (fence_ != 0) {
        if (mark == fence_ && length >= fence_length_ && trim(text->substr(length)).empty()) fence_ = 0;
        return true;
    }
    if ((mark != '`' && mark != '~') || length < 3) return false;
    if (mark == '`' && text->find('`', length) != text->npos) return false; // inline code
    fence_ = mark;
    fence_length_ = length;
    return true;
}

void SectionFinder::note(Line& line, int level, std::string_view title)
{
    line.is_heading = true;
    line.waits = false;
    if (noted_ == most_headings) return;
    ++noted_;
    found_.push_back({level, cut_title(title), line.begin, line.token.value_or(0)});
    if (line.token) placed_ = found_.size();
}

void SectionFinder::place(Line& line, const EncodedToken& token) const
{
    if (!line.token && token.end > line.begin) line.token = tokens_;
}

void SectionFinder::push(std::span<const EncodedToken> tokens)
{
    for (const EncodedToken& token : tokens) {
        for (; placed_ < found_.size() && token.end > found_[placed_].first_byte; ++placed_)
            found_[placed_].first_token = tokens_;
        place(before_, token);
        place(line_, token);
        ++tokens_;
    }
}

void SectionFinder::finish()
{
    if (!line_.text.empty()) end_line();
    if (before_.waits && markup_ == Markup::Plain) note(before_, 1, before_.trimmed());
}

std::vector<Heading> SectionFinder::take()
{
    const auto end = found_.begin() + static_cast<std::ptrdiff_t>(placed_);
    std::vector<Heading> out(std::make_move_iterator(found_.begin()), std::make_move_iterator(end));
    found_.erase(found_.begin(), end);
    placed_ = 0;
    return out;
}

} // namespace palimpsest::engine
