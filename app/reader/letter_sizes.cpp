#include "app/reader/letter_sizes.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace palimpsest::reader {
namespace {

// Parts of the height of "Ag": usual fonts differ by little.
constexpr double with_comma = 0.91, without_descender = 0.78, without_ascender = 0.55;
constexpr double larger = 1.17;        // a heading than the text
constexpr double same_size = 0.92;     // letters of one size, measured in two lines
constexpr size_t longest_title = 120;  // bytes
constexpr size_t deepest_by_size = 6;  // level
constexpr double clearly_lower = 0.88; // a box without descenders, where boxes are tight

double part_of_height(std::string_view text)
{
    const auto has = [&](std::string_view letters) { return text.find_first_of(letters) != text.npos; };
    const auto is_plain = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
    if (2 * std::ranges::count_if(text, is_plain) < static_cast<std::ptrdiff_t>(text.size())) return 1;
    if (has("gjpqy()[]{}|/")) return 1;
    if (has(",;Q")) return with_comma;
    return has("ABCDEFGHIJKLMNOPRSTUVWXYZ0123456789bdfhiklt") ? without_descender : without_ascender;
}

bool may_be_title_of_section(std::string_view text)
{
    return text.size() <= longest_title && !ends_sentence(text) && std::ranges::any_of(text, is_letter_or_digit);
}

// The value that half of the bytes are below. `values`: with their bytes.
double median_by_bytes(std::vector<std::pair<double, size_t>> values)
{
    std::ranges::sort(values);
    size_t all = 0, seen = 0;
    for (const auto& [value, bytes] : values)
        all += bytes;
    for (const auto& [value, bytes] : values)
        if (seen += bytes; 2 * seen >= all) return value;
    return 0;
}

} // namespace

void LetterSizes::count(const PdfPage& page)
{
    for (const PdfLine& line : page.lines)
        if (line.is_measured())
            lines_.push_back({.height = line.height(),
                              .part = part_of_height(line.text),
                              .bytes = line.text.size(),
                              .may_be_title = may_be_title_of_section(line.text)});
}

void LetterSizes::decide()
{
    const auto median_where = [&](auto value, auto counts) {
        std::vector<std::pair<double, size_t>> values;
        for (const Line& line : lines_)
            if (counts(line)) values.emplace_back(value(line), line.bytes);
        return median_by_bytes(std::move(values));
    };
    const auto height = [](const Line& line) { return line.height; };
    const double full = median_where(height, [](const Line&line) { return line.part == 1; }),
                 low = median_where(height, [](const Line&line) { return line.part == without_descender; });
    are_boxes_tight_ = low > 0 && low < clearly_lower * full;
    const auto size = [&](const Line& line) { return size_of(line); };
    text_size_ = median_where(size, [](const Line&) { return true; });
    std::vector<double> sizes;
    for (const Line& line : std::exchange(lines_, {}))
        if (line.may_be_title && size_of(line) > larger * text_size_) sizes.push_back(size_of(line));
    std::ranges::sort(sizes, std::greater());
    for (const double of : sizes)
        if (heading_sizes_.empty() || of < same_size * heading_sizes_.back()) heading_sizes_.push_back(of);
}

double LetterSizes::of(const PdfLine& line) const
{
    if (!line.is_measured()) return 0;
    return are_boxes_tight_ ? line.height() / part_of_height(line.text) : line.height();
}

bool LetterSizes::is_larger(const PdfLine& line) const
{
    return text_size_ > 0 && of(line) > larger * text_size_;
}

int LetterSizes::heading_level(const PdfLine& line) const
{
    if (!is_larger(line) || !may_be_title_of_section(line.text)) return 0;
    const double size = of(line);
    const auto level = static_cast<size_t>(
        std::ranges::count_if(heading_sizes_, [&](double heading) { return size < same_size * heading; }));
    return static_cast<int>(std::min(level + 1, deepest_by_size));
}

} // namespace palimpsest::reader
