#include "app/reader/pdf_layout.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace palimpsest::reader {
namespace {

constexpr size_t lines_at_an_end = 2;

bool is_letter_or_digit(char c)
{
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || static_cast<unsigned char>(c) >= 0x80;
}

char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// The words of a line with "#" for every number, Roman ones included.
std::string without_numbers(std::string_view line)
{
    std::string out, word;
    const auto end_word = [&] {
        const bool is_number = !word.empty() && (word.find_first_not_of("0123456789") == word.npos ||
                                                 word.find_first_not_of("ivxlc") == word.npos);
        out += is_number ? "#" : word;
        word.clear();
    };
    for (const char c : line) {
        if (is_letter_or_digit(c)) {
            word += lower(c);
        } else {
            end_word();
            if (c != ' ' || (!out.empty() && out.back() != ' ')) out += c;
        }
    }
    end_word();
    while (out.ends_with(' '))
        out.pop_back();
    return out;
}

// What two spellings of a title have in common.
std::string letters_of(std::string_view text)
{
    std::string out;
    for (const char c : text)
        if (is_letter_or_digit(c)) out += lower(c);
    return out;
}

template<class Value>
double median(const std::vector<PdfLine>& lines, const Value& value, double otherwise)
{
    std::vector<double> values;
    for (size_t i = 0; i < lines.size(); ++i)
        if (const double of = value(i); of > 0) values.push_back(of);
    if (values.empty()) return otherwise;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::ranges::nth_element(values, middle);
    return *middle;
}

bool ends_sentence(std::string_view text)
{
    for (const std::string_view end : {".", "!", "?", ":", "\"", "\xE2\x80\x9D", ")", "]", "。", "！", "？"})
        if (text.ends_with(end)) return true;
    return false;
}

// Dots that lead from a title to its page.
bool has_leaders(std::string_view text)
{
    const std::string_view end = text.substr(text.size() - std::min(text.size(), size_t{40}));
    return end.find(". . .") != end.npos || end.find(".....") != end.npos;
}

bool begins_item(std::string_view text)
{
    for (const std::string_view bullet :
         {"\xE2\x80\xA2", "\xE2\x96\xAA", "\xE2\x97\xA6", "\xE2\x80\x93 ", "- ", "* "})
        if (text.starts_with(bullet)) return true;
    const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    return digits > 0 && digits <= 3 && text.size() > digits + 1 && (text[digits] == '.' || text[digits] == ')') &&
           text[digits + 1] == ' ';
}

} // namespace

void RunningHeads::count(const std::vector<std::string>& lines)
{
    for (size_t i = 0; i < lines.size(); ++i) {
        if (i >= lines_at_an_end && i + lines_at_an_end < lines.size()) continue;
        Seen& seen = seen_[without_numbers(lines[i])];
        if (seen.last_page != pages_ && pages_ - seen.last_page <= 2) ++seen.repeats;
        seen.last_page = pages_;
    }
    ++pages_;
}

bool RunningHeads::is_running(const std::string& line) const
{
    const auto seen = seen_.find(without_numbers(line));
    return seen != seen_.end() && seen->second.repeats >= 2;
}

void RunningHeads::remove(PdfPage& page) const
{
    constexpr double end_of_page = 0.15; // of its height
    std::erase_if(page.lines, [&](const PdfLine& line) {
        const bool is_at_end =
            line.bottom < end_of_page * page.height || line.top > (1 - end_of_page) * page.height;
        return is_at_end && is_running(line.text);
    });
}

void PdfLayout::measure(const PdfPage& page)
{
    const std::vector<PdfLine>& lines = page.lines;
    height_ = median(
        lines, [&](size_t i) { return lines[i].height(); }, 10);
    leading_ = median(
        lines,
        [&](size_t i) {
            const double distance = i == 0 ? 0 : lines[i].top - lines[i - 1].top;
            return distance < 3 * height_ ? distance : 0;
        },
        1.2 * height_);
    middle_ = page.width / 2;
    const auto count = [&](size_t column) {
        return static_cast<size_t>(
            std::ranges::count_if(lines, [&](const PdfLine& line) { return column_of(line) == column; }));
    };
    constexpr size_t part = 4;
    if (part * count(1) < lines.size() || part * count(2) < lines.size()) middle_ = 0;
    for (size_t column = 0; column < std::size(columns_); ++column)
        measure_column(column, page);
}

void PdfLayout::measure_column(size_t column, const PdfPage& page)
{
    std::vector<double> lefts, rights;
    for (const PdfLine& line : page.lines) {
        if (column_of(line) != column) continue;
        lefts.push_back(line.left);
        rights.push_back(line.right);
    }
    columns_[column] = {};
    if (lefts.empty()) return;
    std::ranges::sort(lefts);
    std::ranges::sort(rights);
    columns_[column] = {lefts[lefts.size() / 10], rights[rights.size() - 1 - rights.size() / 10]};
}

// On a page of two columns, a line is in one of them unless it crosses the middle.
size_t PdfLayout::column_of(const PdfLine& line) const
{
    if (middle_ == 0 || (line.left < middle_ - height_ && line.right > middle_ + height_)) return 0;
    return line.middle() < middle_ ? 1 : 2;
}

bool PdfLayout::is_short(const PdfLine& line) const
{
    constexpr double part = 0.85;
    const Column& column = columns_[column_of(line)];
    return line.right < column.left + part * (column.right - column.left);
}

void PdfLayout::write(const PdfPage& page)
{
    measure(page);
    new_page_ = page.label;
    has_new_page_ = true;
    for (const SectionMark& section : page.sections)
        if (std::ranges::none_of(page.lines, [&](const PdfLine& line) {
                return section_of(page, line.text) && section_of(page, line.text)->title == section.title;
            }))
            waiting_.push_back(section);
    for (const PdfLine& line : page.lines)
        add(page, line);
}

void PdfLayout::finish()
{
    end_block();
}

void PdfLayout::add(const PdfPage& page, const PdfLine& line)
{
    if (goes_on_beside(line)) {
        const double gap = line.left - last_.right;
        join(line, gap > 0.2 * height_ ? " " : "");
        last_.right = std::max(last_.right, line.right);
        return;
    }
    if (text_.empty() || begins_block(line) || section_of(page, line.text))
        begin_block(page, line);
    else
        join(line, level_ == 0 && (is_short(last_) || has_leaders(text_)) ? "\n" : " ");
    last_ = line;
    last_column_ = column_of(line);
}

// Whether the text is on the same line of the page as the last: a raised letter, or another font.
bool PdfLayout::goes_on_beside(const PdfLine& line) const
{
    if (text_.empty() || has_new_page_) return false;
    const double overlap = std::min(line.bottom, last_.bottom) - std::max(line.top, last_.top);
    return overlap > 0.5 * std::min(line.height(), last_.height()) && line.left > last_.right - height_ / 2;
}

bool PdfLayout::begins_block(const PdfLine& line) const
{
    constexpr double other_size = 1.4, blank_line = 1.45;
    const double larger = std::max(line.height(), last_.height()),
                 smaller = std::min(line.height(), last_.height());
    if (level_ > 0) {
        const std::string both = letters_of(text_) + letters_of(line.text);
        if (!title_.empty()) return !letters_of(title_).ends_with(both) && !letters_of(title_).starts_with(both);
        return larger > 1.15 * smaller || line.top - last_.top > 2 * larger;
    }
    if (begins_item(line.text) || !waiting_.empty()) return true;
    const bool is_elsewhere = has_new_page_ || line.top < last_.top - height_ || column_of(line) != last_column_;
    if (is_elsewhere) return ends_sentence(text_) || larger > other_size * smaller;
    const double blank = std::max(blank_line * leading_, 1.9 * height_);
    if (line.top - last_.top > blank || larger > 2 * smaller) return true;
    const double margin = columns_[last_column_].left;
    const bool is_indented = line.left > margin + 0.8 * height_ && last_.left < margin + 0.4 * height_;
    return (is_indented && !begins_item(text_)) || (is_short(last_) && ends_sentence(text_));
}

// The section of the outline whose title the line is, or begins.
const SectionMark* PdfLayout::section_of(const PdfPage& page, const std::string& line) const
{
    constexpr size_t longest_number = 12, enough = 8; // letters
    const std::string letters = letters_of(line);
    for (const SectionMark& section : page.sections) {
        const std::string title = letters_of(section.title);
        if (title.empty() || letters.empty()) continue;
        const bool is_all = letters.ends_with(title) && letters.size() - title.size() <= longest_number;
        const bool is_beginning = letters.size() >= enough && title.starts_with(letters);
        if (is_all || is_beginning) return &section;
    }
    return nullptr;
}

int PdfLayout::guessed_level(const PdfLine& line) const
{
    constexpr double larger = 1.4, much_larger = 1.9;
    constexpr size_t longest = 120;
    if (has_outline_ || line.text.size() > longest || ends_sentence(line.text)) return 0;
    if (std::ranges::none_of(line.text, is_letter_or_digit)) return 0;
    return line.height() > much_larger * height_ ? 1 : line.height() > larger * height_ ? 2 : 0;
}

void PdfLayout::begin_block(const PdfPage& page, const PdfLine& line)
{
    end_block();
    if (const SectionMark* section = section_of(page, line.text)) {
        level_ = section->level;
        title_ = section->title;
    } else {
        level_ = guessed_level(line);
        title_.clear();
    }
    if (has_new_page_) pages_.push_back({0, new_page_});
    has_new_page_ = false;
    text_ = line.text;
}

void PdfLayout::join(const PdfLine& line, std::string_view separator)
{
    text_ += separator;
    if (has_new_page_) pages_.push_back({text_.size(), new_page_});
    has_new_page_ = false;
    text_ += line.text;
}

void PdfLayout::end_block()
{
    if (text_.empty()) return;
    for (const SectionMark& section : std::exchange(waiting_, {}))
        writer_.section(section.level, section.title);
    if (level_ > 0) {
        for (const PageMark& page : pages_)
            writer_.page(page.label);
        writer_.heading(level_, text_);
    } else {
        writer_.block(text_, pages_);
    }
    text_.clear();
    pages_.clear();
    level_ = 0;
}

} // namespace palimpsest::reader
