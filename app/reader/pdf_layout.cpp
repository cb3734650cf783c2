#include "app/reader/pdf_layout.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "engine/text/unicode/direction.h"

namespace palimpsest::reader {
namespace {

constexpr size_t lines_at_an_end = 2;
constexpr double near_edge = 0.3; // of the height of letters, which end at different places in their boxes

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

// Letters and digits in lower case, so that titles compare equal despite other spaces and punctuation.
std::string letters_of(std::string_view text)
{
    std::string out;
    for (const char c : text)
        if (is_letter_or_digit(c)) out += lower(c);
    return out;
}

// Dots that lead from a title to its page.
bool has_leaders(std::string_view text)
{
    const std::string_view end = text.substr(text.size() - std::min(text.size(), size_t{40}));
    return end.find(". . .") != end.npos || end.find(".....") != end.npos;
}

// Where dots lead to a page's number at the end of the line: the range from the spaces before them to the number.
// Empty if there are none.
std::pair<size_t, size_t> leaders_in(std::string_view line)
{
    const size_t number = line.find_last_not_of("0123456789ivxlcIVXLC") + 1;
    size_t begin = line.find_last_not_of(". ", number == 0 ? 0 : number - 1) + 1;
    const bool has_number = number < line.size() && number > begin;
    const auto dots = std::ranges::count(line.substr(begin, number - begin), '.');
    return has_number && dots > 3 ? std::pair(begin, number) : std::pair(number, number);
}

// Leaves three dots of those that lead to a page's number, since each would be a token.
void shorten_leaders(std::string& text, std::vector<PageMark>& pages)
{
    constexpr std::string_view leaders = " ... ";
    for (size_t begin = 0; begin < text.size();) {
        const size_t end = std::min(text.find('\n', begin), text.size());
        const auto [first, last] = leaders_in(std::string_view(text).substr(begin, end - begin));
        const size_t cut = last - first, removed = cut > leaders.size() ? cut - leaders.size() : 0;
        if (removed > 0) text.replace(begin + first, cut, leaders);
        for (PageMark& page : pages)
            if (page.offset > begin + first) page.offset -= std::min(removed, page.offset - begin - first);
        begin = end - removed + 1;
    }
}

// The first character, and whether a space follows it.
std::pair<char32_t, bool> first_character(std::string_view text)
{
    const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
    const size_t length = byte(0) < 0x80 ? 1 : byte(0) < 0xE0 ? 2 : byte(0) < 0xF0 ? 3 : 4;
    const char32_t code = length == 1   ? byte(0)
                          : length == 3 ? (byte(0) & 0xF) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F)
                                        : 0;
    return {code, byte(length) == ' '};
}

bool begins_item(std::string_view text)
{
    constexpr char32_t bullet = 0x2022, triangular_bullet = 0x2023, hyphen_bullet = 0x2043, dash = 0x2013;
    const auto [code, has_space] = first_character(text);
    if (code == bullet || code == triangular_bullet || code == hyphen_bullet) return true;
    const bool is_shape = code >= 0x25A0 && code <= 0x25FF, is_tick = code >= 0x2713 && code <= 0x2718,
               is_arrow = code >= 0x2794 && code <= 0x27BE,
               is_of_symbol_font = code >= 0xF020 && code <= 0xF0FF; // as Word writes bullets
    if (is_shape || is_tick || is_arrow || is_of_symbol_font) return true;
    if (has_space && (code == dash || code == '-' || code == '*')) return true;
    const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    return digits > 0 && digits <= 3 && text.size() > digits + 1 && (text[digits] == '.' || text[digits] == ')') &&
           text[digits + 1] == ' ';
}

// "a" of "a. first" and "iv" of "iv) fourth"; empty for other lines. A word may look like it: "v. Wade".
std::string_view letter_of_item(std::string_view text)
{
    const size_t roman = std::min(text.find_first_not_of("ivx"), text.size());
    const size_t length = roman > 0 ? roman : size_t{!text.empty() && text[0] >= 'a' && text[0] <= 'z'};
    constexpr size_t longest = 5;
    if (length == 0 || length > longest || text.size() < length + 3) return {};
    const bool has_mark = (text[length] == '.' || text[length] == ')') && text[length + 1] == ' ';
    return has_mark ? text.substr(0, length) : std::string_view();
}

bool is_next_letter(std::string_view before, std::string_view letter)
{
    if (before.empty() || letter.empty()) return false;
    if (before.size() == 1 && letter.size() == 1 && letter[0] == before[0] + 1) return true;
    constexpr std::string_view roman[] = {"i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii"};
    const auto* const at = std::ranges::find(roman, before);
    return at != std::end(roman) && at + 1 != std::end(roman) && *(at + 1) == letter;
}

// How far the first word of the line and a space reach, in points. Every character of Chinese or Japanese is a
// word.
double first_word_width(const PdfLine& line)
{
    constexpr double spread = 1.1; // of the widths of letters
    constexpr unsigned char first_of_east_asia = 0xE3;
    const bool is_ideograph = static_cast<unsigned char>(line.text.front()) >= first_of_east_asia;
    const size_t word = is_ideograph ? 3 : std::min(line.text.find(' '), line.text.size());
    const double letter = (line.right - line.left) / std::max(1.0, width_in_letters(line.text));
    return letter * spread * width_in_letters(std::string_view(line.text).substr(0, word)) +
           letter * width_in_letters(" ");
}

// Where lines end on the right. `rights`: ends of lines, sorted. Where many end near one another, a line that ends
// farther right stands out; otherwise, as in lists, only the longest are full.
double right_edge(double left, const std::vector<double>& rights)
{
    const double usual = rights[rights.size() - 1 - rights.size() / 10], near = 0.1; // of the width
    const auto full =
        std::ranges::count_if(rights, [&](double right) { return right > usual - near * (usual - left); });
    return 3 * static_cast<size_t>(full) >= rights.size() ? usual : rights.back();
}

// From one line to the next. Letters above or below the others make it seem longer at one end of the lines only.
double distance_of(const PdfLine& before, const PdfLine& line)
{
    return std::min(line.top - before.top, line.bottom - before.bottom);
}

// The form by which a running head is recognised on other pages: the words of the line with "#" for numbers. A line
// that is only a number has the difference to its page's index instead. Empty for a row of several numbers, which
// may belong to a table.
std::string form_of(std::string_view line, int page)
{
    std::string form = without_numbers(line);
    const auto numbers = std::ranges::count(form, '#');
    if (std::ranges::any_of(form, is_letter_or_digit)) return form;
    if (numbers > 1) return {};
    const size_t digits = std::min(line.find_first_of("0123456789"), line.size());
    if (numbers == 1 && digits < line.size())
        form += std::to_string(std::atoi(std::string(line.substr(digits, 7)).c_str()) - page);
    return form;
}

// The lines at the ends of a page, by their index.
std::vector<size_t> end_lines(size_t lines)
{
    std::vector<size_t> ends;
    for (size_t i = 0; i < lines; ++i)
        if (i < lines_at_an_end || i + lines_at_an_end >= lines) ends.push_back(i);
    return ends;
}

// A small page may have wide margins; a line that is only a number may be farther in.
bool is_near_end(const PdfLine& line, const PdfPage& page)
{
    if (!line.is_measured()) return true;
    const bool is_number = line.text.find_first_not_of("0123456789ivxlc") == line.text.npos;
    const double end = is_number ? 0.25 : 0.15; // of the page's height
    return line.bottom < end * page.height || line.top > (1 - end) * page.height;
}

// Whether the line is the number of its page, at the end.
bool is_page_number(const PdfLine& line, const PdfPage& page)
{
    return line.is_measured() && line.text == page.label && line.top > page.height / 2;
}

// Whether one of the lines is right below the other, as lines of a paragraph are and running heads are not.
bool follow_one_another(const PdfLine& a, const PdfLine& b)
{
    if (!a.is_measured() || !b.is_measured()) return false;
    const double gap = std::max(a.top, b.top) - std::min(a.bottom, b.bottom);
    const bool is_beside = a.left >= b.right || b.left >= a.right;
    const bool is_on_the_same = gap < -0.5 * std::min(a.height(), b.height());
    return !is_beside && !is_on_the_same && gap < 0.6 * std::max(a.height(), b.height());
}

// Whether this may stand before the title of a section: its number, and what it is called.
bool is_number_of_section(std::string_view letters)
{
    for (const std::string_view name : {"chapter", "part", "section", "appendix", "book"})
        if (letters.starts_with(name)) letters.remove_prefix(name.size());
    constexpr size_t longest = 10;
    return letters.size() <= longest && (letters.find_first_not_of("0123456789") == letters.npos ||
                                         letters.find_first_not_of("ivxlc") == letters.npos || letters.size() == 1);
}

// For every line the section whose title it is, or begins; null for the others. A title in the largest letters
// counts.
std::vector<const SectionMark*> headings_of(const PdfPage& page)
{
    constexpr size_t most_sections = 200; // of a page; a real one has a few
    constexpr size_t enough = 8;          // letters
    std::vector<std::string> letters;
    for (const PdfLine& line : page.lines)
        letters.push_back(letters_of(line.text));
    std::vector<const SectionMark*> found(page.lines.size(), nullptr);
    for (size_t s = 0; s < std::min(page.sections.size(), most_sections); ++s) {
        const std::string title = letters_of(page.sections[s].title);
        if (title.empty()) continue;
        size_t best = page.lines.size();
        for (size_t i = 0; i < page.lines.size(); ++i) {
            if (found[i] || letters[i].empty()) continue;
            const bool is_all =
                letters[i].ends_with(title) &&
                is_number_of_section(std::string_view(letters[i]).substr(0, letters[i].size() - title.size()));
            const bool is_beginning = letters[i].size() >= enough && i + 1 < letters.size() &&
                                      title.starts_with(letters[i]) && !letters[i + 1].empty() &&
                                      std::string_view(title).substr(letters[i].size()).starts_with(letters[i + 1]);
            if (!is_all && !is_beginning) continue;
            if (best == page.lines.size() || page.lines[i].height() > page.lines[best].height()) best = i;
        }
        if (best < page.lines.size()) found[best] = &page.sections[s];
    }
    return found;
}

bool is_small_letter(char c)
{
    return (c >= 'a' && c <= 'z') || static_cast<unsigned char>(c) >= 0x80;
}

// Whether the lines are rows of a table, one below the other: with a gap at the same place. Each may have hundreds.
bool are_rows(const PdfLine& a, const PdfLine& b)
{
    for (size_t i = 0, j = 0; i < a.gaps.size() && j < b.gaps.size();) {
        const PdfGap &one = a.gaps[i], &other = b.gaps[j];
        if (std::min(one.right, other.right) - std::max(one.left, other.left) > a.height() / 2) return true;
        one.right < other.right ? ++i : ++j;
    }
    return false;
}

} // namespace

void RunningHeads::count(const std::vector<std::string>& lines)
{
    for (const size_t i : end_lines(lines.size())) {
        std::vector<int>& pages = pages_[form_of(lines[i], counted_)];
        if (pages.empty() || pages.back() != counted_) pages.push_back(counted_);
    }
    ++counted_;
}

bool RunningHeads::is_running(const std::string& line, int page) const
{
    constexpr int near = 4, enough = 3; // pages
    const std::string form = form_of(line, page);
    const auto seen = pages_.find(form);
    if (form.empty() || seen == pages_.end()) return false;
    const std::vector<int>& pages = seen->second;
    return std::ranges::lower_bound(pages, page + near + 1) - std::ranges::lower_bound(pages, page - near) >=
           enough;
}

void RunningHeads::remove(PdfPage& page) const
{
    const std::vector<const SectionMark*> headings = headings_of(page);
    std::vector<size_t> heads;
    for (const size_t i : end_lines(page.lines.size()))
        if (!headings[i] && is_near_end(page.lines[i], page) &&
            (is_running(page.lines[i].text, page.number) || is_page_number(page.lines[i], page)))
            heads.push_back(i);
    const auto is_head = [&](size_t i) { return std::ranges::find(heads, i) != heads.end(); };
    const auto adjoins_text = [&](size_t head) {
        for (size_t i = 0; i < page.lines.size(); ++i)
            if (!is_head(i) && follow_one_another(page.lines[i], page.lines[head])) return true;
        return false;
    };
    for (size_t count = heads.size() + 1; heads.size() < count;) {
        count = heads.size();
        std::vector<size_t> apart;
        std::ranges::copy_if(heads, std::back_inserter(apart), [&](size_t head) { return !adjoins_text(head); });
        heads = std::move(apart);
    }
    std::vector<PdfLine> kept;
    for (size_t i = 0; i < page.lines.size(); ++i)
        if (!is_head(i)) kept.push_back(page.lines[i]);
    page.lines = std::move(kept);
}

void PdfLayout::measure(const PdfPage& page)
{
    std::vector<double> heights, sizes, distances, bytes;
    const PdfLine* before = nullptr;
    for (const PdfLine& line : page.lines) {
        bytes.push_back(static_cast<double>(line.text.size()));
        if (!line.is_measured()) continue;
        heights.push_back(line.height());
        sizes.push_back(sizes_.of(line));
        if (before) distances.push_back(line.top - before->top);
        before = &line;
    }
    usual_bytes_ = static_cast<size_t>(median(std::move(bytes), 0));
    height_ = median(std::move(heights), 10);
    constexpr size_t enough = 8; // lines, to know which letters are usual
    letters_ = sizes.size() < enough ? 0 : median(std::move(sizes), 10);
    std::erase_if(distances, [&](double distance) { return distance > 3 * height_; });
    leading_ = median(std::move(distances), 1.2 * height_);
    middle_ = page.width / 2;
    const auto count = [&](size_t column) {
        return static_cast<size_t>(
            std::ranges::count_if(page.lines, [&](const PdfLine& line) { return column_of(line) == column; }));
    };
    constexpr size_t part = 4;
    if (part * count(1) < page.lines.size() || part * count(2) < page.lines.size()) middle_ = 0;
    for (size_t column = 0; column < std::size(columns_); ++column)
        measure_column(column, page);
}

void PdfLayout::measure_column(size_t column, const PdfPage& page)
{
    std::vector<double> lefts, rights;
    for (const PdfLine& line : page.lines) {
        if (!line.is_measured() || column_of(line) != column) continue;
        lefts.push_back(line.left);
        rights.push_back(line.right);
    }
    columns_[column] = {};
    if (lefts.empty()) return;
    std::ranges::sort(lefts);
    std::ranges::sort(rights);
    const double left = lefts[lefts.size() / 10];
    const double edge = right_edge(left, rights);
    const auto full =
        std::ranges::count_if(rights, [&](double right) { return std::abs(right - edge) < near_edge * height_; });
    columns_[column] = {left, edge, lefts.size(), 5 * static_cast<size_t>(full) >= 3 * lefts.size()};
}

// On a page of two columns, a line is in one of them unless it crosses the middle.
size_t PdfLayout::column_of(const PdfLine& line) const
{
    if (middle_ == 0 || (line.left < middle_ - height_ && line.right > middle_ + height_)) return 0;
    return line.middle() < middle_ ? 1 : 2;
}

bool PdfLayout::is_short(const PdfLine& line) const
{
    if (!line.is_measured()) return 4 * line.text.size() < 3 * usual_bytes_;
    constexpr double part = 0.85;
    const Column& column = columns_[column_of(line)];
    return line.right < column.left + part * (column.right - column.left);
}

void PdfLayout::write(const PdfPage& page)
{
    measure(page);
    new_pages_.push_back(page.label);
    const std::vector<const SectionMark*> headings = headings_of(page);
    for (const SectionMark& section : page.sections)
        if (std::ranges::find(headings, &section) == headings.end()) waiting_.push_back(section);
    const std::vector<Place> places = places_of(page.lines);
    for (size_t i = 0; i < page.lines.size(); ++i)
        add(page.lines[i], places[i], headings[i]);
}

// Whether the lines are of one column, the second below the first.
bool PdfLayout::follow(const PdfLine& before, const PdfLine& line) const
{
    return before.is_measured() && line.is_measured() && column_of(before) == column_of(line) &&
           distance_of(before, line) > 0.3 * height_;
}

std::vector<PdfLayout::Place> PdfLayout::places_of(const std::vector<PdfLine>& lines) const
{
    constexpr double farther = 1.2, of_a_block = 1.45, same = 0.05; // of the usual distance
    std::vector<double> distances(lines.size() + 1, 0);
    for (size_t i = 1; i < lines.size(); ++i)
        if (follow(lines[i - 1], lines[i])) distances[i] = distance_of(lines[i - 1], lines[i]);
    std::vector<Place> places(lines.size());
    size_t begin = 0; // of lines that belong together
    for (size_t i = 0; i < lines.size(); ++i) {
        const Column& column = columns_[column_of(lines[i])];
        places[i].left = column.left;
        places[i].edge = column.right;
        places[i].is_justified = column.is_justified;
        const auto is_like = [&](double other) { return std::abs(distances[i] - other) < same * leading_; };
        // Rows of a table are farther apart than lines, but evenly.
        const bool is_lone = (i == 0 || !is_like(distances[i - 1])) && !is_like(distances[i + 1]);
        places[i].is_apart = distances[i] > farther * leading_ && (is_lone || ends_sentence(lines[i - 1].text));
        const bool goes_on = distances[i] > 0 && distances[i] < of_a_block * leading_ &&
                             std::abs(lines[i].left - lines[begin].left) < 0.4 * height_;
        if (goes_on) continue;
        set_edge(lines, begin, i, places);
        begin = i;
    }
    set_edge(lines, begin, lines.size(), places);
    return places;
}

// A quotation may end farther left than the text around it: its lines do if each is too long for the next word.
void PdfLayout::set_edge(const std::vector<PdfLine>& lines, size_t begin, size_t end,
                         std::vector<Place>& places) const
{
    constexpr size_t enough = 3; // lines
    if (end < begin + enough || !lines[begin].is_measured()) return;
    const Column& column = columns_[column_of(lines[begin])];
    if (lines[begin].left < column.left + 0.8 * height_) return;
    double edge = 0;
    for (size_t i = begin; i < end; ++i)
        edge = std::max(edge, lines[i].right);
    if (edge < (column.left + column.right) / 2) return; // lines of a word or two, each too long for another
    for (size_t i = begin; i + 1 < end; ++i)
        if (lines[i].right + first_word_width(lines[i + 1]) < edge) return;
    for (size_t i = begin; i < end; ++i)
        places[i] = {
            .left = places[i].left, .edge = std::min(places[i].edge, edge), .is_apart = places[i].is_apart};
}

void PdfLayout::finish()
{
    end_block();
    for (const std::string& label : new_pages_)
        writer_.page(label);
    write_waiting_sections();
}

void PdfLayout::add(const PdfLine& line, const Place& place, const SectionMark* section)
{
    if (!section && goes_on_beside(line)) {
        add_beside(line);
    } else {
        last_begins_block_ = text_.empty() || section || !waiting_.empty() || begins_block(line, place);
        if (last_begins_block_)
            begin_block(line, section);
        else
            join(line);
        last_ = line;
        last_indent_ = indent_of(line);
        last_column_ = column_of(line);
        last_lines_ = columns_[last_column_].lines;
        last_place_ = place;
    }
    last_is_short_ = is_short(last_);
}

void PdfLayout::add_beside(const PdfLine& line)
{
    // A raised number at the beginning is that of a note.
    const bool is_number = text_.find_first_not_of("0123456789") == text_.npos,
               is_note = is_number && last_.bottom < line.bottom - 0.3 * line.height();
    if (is_note || line.left - last_.right > 0.2 * height_) text_ += ' ';
    text_ += line.text;
    if (line.left - last_.right > height_) last_.gaps.push_back({last_.right, line.left});
    last_.gaps.insert(last_.gaps.end(), line.gaps.begin(), line.gaps.end());
    last_.right = std::max(last_.right, line.right);
    last_.bottom = std::max(last_.bottom, line.bottom);
    last_.is_divided = line.is_divided;
}

// Whether the text is on the same line of the page as the last: a raised letter, or another font.
bool PdfLayout::goes_on_beside(const PdfLine& line) const
{
    if (text_.empty() || !new_pages_.empty() || !line.is_measured() || !last_.is_measured()) return false;
    if (column_of(line) != last_column_ || line.left - last_.right > 3 * height_) return false;
    constexpr double tallest = 3; // of usual lines; taller ones are turned
    if (std::max(line.height(), last_.height()) > tallest * height_) return false;
    const double overlap = std::min(line.bottom, last_.bottom) - std::max(line.top, last_.top);
    return overlap > 0.5 * std::min(line.height(), last_.height()) && line.left > last_.right - height_ / 2;
}

// On another page, or in another column.
bool PdfLayout::is_elsewhere(const PdfLine& line) const
{
    return !new_pages_.empty() || line.top < last_.top - height_ || column_of(line) != last_column_;
}

// Whether the last line ended before it was full: the first word of the next line had room in it.
bool PdfLayout::last_ends_early(const PdfLine& line) const
{
    if (!line.is_measured() || !last_.is_measured()) return last_is_short_;
    if (engine::reads_leftwards(last_.text)) return last_.left - first_word_width(line) > last_place_.left;
    return last_.right + first_word_width(line) < last_place_.edge;
}

// Whether the last line, at the end of a sentence, ends its paragraph: it has room for the next word, or it is
// in a justified column and does not reach its edge.
bool PdfLayout::last_ends_paragraph(const PdfLine& line) const
{
    const bool is_full = engine::reads_leftwards(last_.text) ? last_.left < last_place_.left + near_edge * height_
                                                             : last_.right > last_place_.edge - near_edge * height_;
    return last_ends_early(line) || (last_place_.is_justified && !is_full);
}

double PdfLayout::indent_of(const PdfLine& line) const
{
    const Column& column = columns_[column_of(line)];
    return engine::reads_leftwards(line.text) ? column.right - line.right : line.left - column.left;
}

bool PdfLayout::begins_block(const PdfLine& line, const Place& place) const
{
    if (level_ > 0) return begins_after_heading(line);
    if (last_.is_divided) return false;
    if (begins_item(line.text) || begins_lettered_item(line)) return true;
    const bool ends = ends_sentence(text_);
    if (!line.is_measured() || !last_.is_measured()) return ends && (last_is_short_ || !new_pages_.empty());
    const double larger = std::max(sizes_.of(line), sizes_.of(last_)),
                 smaller = std::min(sizes_.of(line), sizes_.of(last_));
    constexpr double other_size = 1.4, blank_line = 1.45;
    if (is_elsewhere(line))
        return larger > other_size * smaller || guessed_level(line) > 0 || (ends && begins_elsewhere(line));
    const double blank = std::max(blank_line * leading_, 1.9 * height_);
    if (line.top - last_.top > blank || larger > 2 * smaller) return true;
    const bool ends_early = last_ends_early(line);
    if (ends_early && (place.is_apart || guessed_level(line) > 0)) return true;
    const bool is_indented = indent_of(line) > 0.8 * height_, was_at_margin = last_indent_ < 0.4 * height_;
    return (is_indented && was_at_margin && !is_item_) || (ends && (last_ends_paragraph(line) || place.is_apart));
}

// Whether a block begins on another page or in another column, after the end of a sentence. A paragraph rarely ends
// with a full line.
bool PdfLayout::begins_elsewhere(const PdfLine& line) const
{
    constexpr size_t enough = 5; // lines, to know where they end
    const double farther_in = indent_of(line) - last_indent_, indent = 0.8 * height_;
    const bool has_other_indent = farther_in > indent || (farther_in < -indent && !last_begins_block_);
    return last_lines_ < enough || last_ends_paragraph(line) || has_other_indent;
}

// The mark of an item is where a line begins by chance if it had no room in the line before, and follows on no
// other.
bool PdfLayout::begins_lettered_item(const PdfLine& line) const
{
    const std::string_view letter = letter_of_item(line.text);
    if (letter.empty() || !line.is_measured() || !last_.is_measured() || is_elsewhere(line)) return false;
    const bool is_first = letter == "a" || letter == "i";
    return is_next_letter(letter_of_item(text_), letter) || last_ends_early(line) ||
           (is_first && line.left > last_.left + 0.8 * height_);
}

// Whether the line is not part of the open heading. A heading from the outline may have several lines, which
// together spell its title; the lines of a guessed heading have letters of the same size.
bool PdfLayout::begins_after_heading(const PdfLine& line) const
{
    if (!title_.empty()) {
        const std::string title = letters_of(title_), both = letters_of(text_) + letters_of(line.text);
        return !title.ends_with(both) && !title.starts_with(both);
    }
    const double larger = std::max(sizes_.of(line), sizes_.of(last_)),
                 smaller = std::min(sizes_.of(line), sizes_.of(last_));
    return is_elsewhere(line) || !sizes_.is_larger(line) || larger > 1.15 * smaller ||
           line.top - last_.top > 2 * larger;
}

// A line in slightly larger letters is a heading if it is short, and the page has smaller ones.
int PdfLayout::guessed_level(const PdfLine& line) const
{
    constexpr double much_larger = 1.4, larger = 1.1;
    if (has_outline_) return 0;
    const double size = sizes_.of(line);
    const bool is_clear = size > much_larger * letters_ || (size > larger * letters_ && is_short(line));
    return is_clear ? sizes_.heading_level(line) : 0;
}

void PdfLayout::begin_block(const PdfLine& line, const SectionMark* section)
{
    const bool is_item = begins_item(line.text) || begins_lettered_item(line);
    end_block();
    write_waiting_sections();
    is_item_ = is_item;
    level_ = section ? section->level : guessed_level(line);
    title_ = section ? section->title : "";
    begin_pages_in_block();
    text_ = line.text;
}

void PdfLayout::join(const PdfLine& line)
{
    constexpr std::string_view hyphen = "\xE2\x80\x90"; // U+2010, which the library does not take for a division
    const bool is_elsewhere = !new_pages_.empty() || column_of(line) != last_column_;
    const bool goes_on = !text_.empty() && !line.text.empty() && is_small_letter(line.text.front());
    if (last_.is_divided) {
        if (!goes_on || !is_small_letter(text_.back())) text_ += '-'; // one of the word, beside capitals and digits
    } else if (goes_on && text_.size() > hyphen.size() && text_.ends_with(hyphen) &&
               is_small_letter(text_[text_.size() - hyphen.size() - 1])) {
        text_.resize(text_.size() - hyphen.size());
    } else if (is_elsewhere && goes_on && text_.size() > 1 && text_.ends_with('-') &&
               is_small_letter(text_[text_.size() - 2])) {
        text_.pop_back();
    } else {
        const bool is_apart = last_ends_early(line) || has_leaders(text_) || are_rows(last_, line);
        text_ += level_ == 0 && is_apart ? '\n' : ' ';
    }
    begin_pages_in_block();
    text_ += line.text;
}

void PdfLayout::begin_pages_in_block()
{
    for (std::string& label : new_pages_)
        pages_.push_back({text_.size(), std::move(label)});
    new_pages_.clear();
}

void PdfLayout::end_block()
{
    if (text_.empty()) return;
    shorten_leaders(text_, pages_);
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

void PdfLayout::write_waiting_sections()
{
    for (const SectionMark& section : std::exchange(waiting_, {}))
        writer_.section(section.level, section.title);
}

} // namespace palimpsest::reader
