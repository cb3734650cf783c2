#include "app/reader/pdf.h"

#include <QBuffer>
#include <QLoggingCategory>
#include <QPdfBookmarkModel>
#include <QPdfDocument>
#include <QPdfSelection>
#include <chrono>
#include <optional>
#include <utility>

#include "app/reader/line_boxes.h"
#include "app/reader/pdf_layout.h"
#include "storage/reader/empty_pages.h"

namespace palimpsest::reader {
namespace {

using storage::DocumentFact;
using storage::DocumentProblem;

// Placing lines takes longer than reading their text. What is not placed in time is joined by its words alone.
using Clock = std::chrono::steady_clock;
constexpr auto most_time_of_page = std::chrono::seconds(5), most_time = std::chrono::seconds(240);
constexpr int most_bookmarks = 10'000;
// The most pages and bytes that are read, to find the sizes of headings, before the first page is written. A PDF
// with an outline needs fewer: its outline names the headings.
constexpr size_t most_waiting_pages = 64, pages_with_outline = 8, most_waiting_bytes = 16 << 20;

void open(QPdfDocument& pdf, QBuffer& bytes)
{
    pdf.load(&bytes);
    if (pdf.status() == QPdfDocument::Status::Ready) return;
    const auto error = pdf.error();
    if (error == QPdfDocument::Error::IncorrectPassword || error == QPdfDocument::Error::UnsupportedSecurityScheme)
        throw Problem{DocumentProblem::Protected, Text("it is protected with a password"),
                      Text("save a copy without the password, and give that")};
    throw Problem{DocumentProblem::Damaged, Text("it is damaged: it cannot be opened as PDF"),
                  Text("get it again, or open it in the program that made it and save it anew")};
}

// A line of a page: where it begins in the page's text, its length, and whether a space follows it there.
struct LineRange {
    int begin = 0, length = 0;
    bool is_divided = false, has_space = false;

    int end() const { return begin + length; }
};

constexpr QChar divided(0xFFFE); // the library's mark for a hyphen at the end of a line, with no line end after it
constexpr QChar soft_hyphen(0xAD);

std::vector<LineRange> line_ranges(const QString& text)
{
    std::vector<LineRange> lines;
    for (qsizetype begin = 0; begin < text.size();) {
        qsizetype end = begin;
        while (end < text.size() && text[end] != u'\n' && text[end] != divided)
            ++end;
        qsizetype last = end;
        while (last > begin && text[last - 1].isSpace())
            --last;
        const bool has_hyphen =
            end < text.size() && (text[end] == divided || (last > begin && text[last - 1] == soft_hyphen));
        const bool goes_on = has_hyphen && end + 1 < text.size() && !text[end + 1].isDigit();
        const bool has_space = last < end && text[last] == u' ';
        if (last > begin)
            lines.push_back({static_cast<int>(begin), static_cast<int>(last - begin), goes_on, has_space});
        begin = end + 1;
    }
    return lines;
}

std::string line_text(const QString& page, const LineRange& range)
{
    return on_one_line(clean_text(page.mid(range.begin, range.length).toStdString()));
}

std::vector<PdfBox> pieces_of(const QPdfSelection& selection)
{
    std::vector<PdfBox> pieces;
    for (const QPolygonF& polygon : selection.bounds()) {
        const QRectF box = polygon.boundingRect();
        pieces.push_back({box.left(), box.top(), box.right(), box.bottom()});
    }
    return pieces;
}

// Places the lines of a page. A question to the library takes as long as reading the page does, so all lines are
// asked for at once, and then the halves of those of which the answer does not tell where each one is.
class LineMeter {
public:
    // `lines`: as the ranges say, placed here. `deadline`: lines that are not placed until then stay as they are.
    LineMeter(QPdfDocument& pdf, int page, const QString& text, const std::vector<LineRange>& ranges,
              Clock::time_point deadline, std::vector<PdfLine>& lines)
        : pdf_(pdf), page_(page), text_(text), ranges_(ranges), deadline_(deadline), lines_(lines)
    {
    }

    void run() { measure(0, ranges_.size()); }

private:
    void measure(size_t begin, size_t end)
    {
        if (begin == end || Clock::now() > deadline_) return;
        if (end - begin == 1) return measure_one(begin);
        if (measure_together(begin, end)) return;
        const size_t middle = begin + (end - begin) / 2;
        measure(begin, middle);
        measure(middle, end);
    }

    bool measure_together(size_t begin, size_t end)
    {
        const LineRange &first = ranges_[begin], &last = ranges_[end - 1];
        const int length = last.end() - first.begin;
        const QPdfSelection found = pdf_.getSelectionAtIndex(page_, first.begin + shift_, length);
        if (found.text() != text_.mid(first.begin, length)) return false;
        std::vector<std::string> texts;
        for (size_t i = begin; i < end; ++i)
            texts.push_back(lines_[i].text);
        std::vector<LineBox> boxes = line_boxes(pieces_of(found), texts);
        for (size_t i = 0; i < boxes.size(); ++i) {
            PdfBox& box = boxes[i].box;
            if (ranges_[begin + i].has_space && begin + i + 1 < end)
                box.right -= std::min(width_of_space(ranges_[begin + i]), box.width());
            place(begin + i, boxes[i]);
        }
        return !boxes.empty();
    }

    // Returns the width of the space at the end of `range`. It is measured once a page, and taken for all other
    // lines.
    double width_of_space(const LineRange& range)
    {
        if (!space_) space_ = pdf_.getSelectionAtIndex(page_, range.end() + shift_, 1).boundingRectangle().width();
        return *space_;
    }

    // The library counts characters that are not in the text, such as controls, so the place of a line is looked
    // for from its index on.
    void measure_one(size_t index)
    {
        const LineRange& range = ranges_[index];
        const QString wanted = text_.mid(range.begin, range.length);
        constexpr int farthest = 16;
        for (int shift = shift_; shift < shift_ + farthest; ++shift) {
            const QPdfSelection found = pdf_.getSelectionAtIndex(page_, range.begin + shift, range.length);
            if (found.text() != wanted) continue;
            shift_ = shift;
            if (!found.bounds().empty()) place(index, line_box(pieces_of(found)));
            return;
        }
    }

    void place(size_t index, const LineBox& found)
    {
        const PdfBox& box = found.box;
        const bool is_turned = box.height() > box.width() && ranges_[index].length > 3;
        if (is_turned) return;
        PdfLine& line = lines_[index];
        line.left = box.left, line.top = box.top, line.right = box.right, line.bottom = box.bottom;
        line.gaps = found.gaps;
        separate_number(ranges_[index], line);
    }

    // The raised number of a note runs into its first word: "1The".
    void separate_number(const LineRange& range, PdfLine& line)
    {
        const size_t digits = line.text.find_first_not_of("0123456789");
        if (digits == 0 || digits == line.text.npos || !is_letter_or_digit(line.text[digits])) return;
        const QRectF box =
            pdf_.getSelectionAtIndex(page_, range.begin + shift_, static_cast<int>(digits)).boundingRectangle();
        if (box.bottom() < line.top + 0.7 * line.height()) line.text.insert(digits, " ");
    }

    QPdfDocument& pdf_;
    int page_;
    const QString& text_;
    const std::vector<LineRange>& ranges_;
    Clock::time_point deadline_;
    std::vector<PdfLine>& lines_;
    int shift_ = 0;
    std::optional<double> space_;
};

class Reader {
public:
    Reader(QPdfDocument& pdf, TextWriter& writer) : pdf_(pdf), writer_(writer) {}

    void run()
    {
        if (pdf_.pageCount() > storage::most_reader_pages)
            throw Problem{DocumentProblem::TooLarge,
                          Text("it has more than {0} pages, the limit", storage::most_reader_pages),
                          Text("divide it into several files")};
        writer_.fact(DocumentFact::Title, fact(QPdfDocument::MetaDataField::Title));
        writer_.fact(DocumentFact::Author, fact(QPdfDocument::MetaDataField::Author));
        read_outline();
        look_through();
        write_pages();
        if (empty_.size() == pages()) throw without_text(); // but for a stamp that all scanned pages have
        report_empty_pages();
    }

private:
    uint64_t pages() const { return static_cast<uint64_t>(pdf_.pageCount()); }
    std::string fact(QPdfDocument::MetaDataField field) const
    {
        return pdf_.metaData(field).toString().toStdString();
    }

    void read_outline()
    {
        QPdfBookmarkModel outline;
        outline.setDocument(&pdf_);
        std::vector<std::pair<QModelIndex, int>> open;
        const auto push_children = [&](const QModelIndex& parent, int level) {
            for (int i = outline.rowCount(parent); i > 0; --i)
                open.emplace_back(outline.index(i - 1, 0, parent), level);
        };
        push_children({}, 1);
        for (int i = 0; !open.empty() && i < most_bookmarks; ++i) {
            const auto [bookmark, level] = open.back();
            open.pop_back();
            const int page = bookmark.data(static_cast<int>(QPdfBookmarkModel::Role::Page)).toInt();
            const QString title = bookmark.data(static_cast<int>(QPdfBookmarkModel::Role::Title)).toString();
            if (page >= 0 && page < pdf_.pageCount())
                sections_[page].push_back({level, on_one_line(clean_text(title.toStdString()))});
            if (level < storage::deepest_heading) push_children(bookmark, level + 1);
        }
    }

    // The first time through the pages: which lines are running heads, and which pages have no text.
    void look_through()
    {
        for (int i = 0; i < pdf_.pageCount(); ++i) {
            writer_.progress(progress_++, 2 * pages());
            const QString text = pdf_.getAllText(i).text();
            std::vector<std::string> lines;
            for (const LineRange& range : line_ranges(text))
                lines.push_back(line_text(text, range));
            if (lines.empty()) empty_.push_back(label(i));
            heads_.count(lines);
        }
        if (empty_.size() == pages()) throw without_text();
        empty_.clear(); // told anew without running heads
    }

    Problem without_text() const
    {
        return {DocumentProblem::Unsupported,
                Text("it has no text on any of its pages ({0}); they may be pictures", pages()),
                Text("recognise its text first (OCR), for example with ocrmypdf")};
    }

    // The second time. Headings are told by the sizes of letters on the pages that are read before the first is
    // written.
    void write_pages()
    {
        const bool has_outline = !sections_.empty();
        const size_t most_pages = has_outline ? pages_with_outline : most_waiting_pages;
        LetterSizes sizes;
        PdfLayout layout(has_outline, sizes, writer_);
        std::vector<PdfPage> waiting;
        size_t bytes = 0; // of what is waiting
        bool is_decided = false;
        const auto write_waiting = [&] {
            if (!std::exchange(is_decided, true)) sizes.decide();
            for (const PdfPage& page : std::exchange(waiting, {}))
                layout.write(page);
        };
        for (int i = 0; i < pdf_.pageCount(); ++i) {
            writer_.progress(progress_++, 2 * pages());
            waiting.push_back(page(i));
            if (waiting.back().lines.empty()) empty_.push_back(waiting.back().label);
            if (!is_decided) sizes.count(waiting.back());
            for (const PdfLine& line : waiting.back().lines)
                bytes += sizeof(line) + line.text.size() + line.gaps.size() * sizeof(PdfGap);
            if (is_decided || bytes > most_waiting_bytes || waiting.size() == most_pages) write_waiting();
        }
        write_waiting();
        layout.finish();
    }

    std::string label(int page)
    {
        const QString own = pdf_.pageLabel(page);
        return own.isEmpty() ? std::to_string(page + 1) : own.toStdString();
    }

    PdfPage page(int number)
    {
        const QString text = pdf_.getAllText(number).text();
        const QSizeF size = pdf_.pagePointSize(number);
        PdfPage page{.number = number,
                     .label = label(number),
                     .width = size.width(),
                     .height = size.height(),
                     .lines = {},
                     .sections = {}};
        if (const auto sections = sections_.find(number); sections != sections_.end())
            page.sections = sections->second;
        std::vector<LineRange> ranges = line_ranges(text);
        std::erase_if(ranges, [&](const LineRange& range) { return line_text(text, range).empty(); });
        for (const LineRange& range : ranges)
            page.lines.push_back({.text = line_text(text, range), .is_divided = range.is_divided});
        const auto begin = Clock::now();
        const auto time = std::min<Clock::duration>(most_time_of_page, most_time - measured_);
        LineMeter(pdf_, number, text, ranges, begin + time, page.lines).run();
        measured_ += Clock::now() - begin;
        heads_.remove(page);
        return page;
    }

    void report_empty_pages()
    {
        if (empty_.empty()) return;
        writer_.note(storage::empty_pages_words(empty_, static_cast<size_t>(pages())));
    }

    QPdfDocument& pdf_;
    TextWriter& writer_;
    std::unordered_map<int, std::vector<SectionMark>> sections_; // by page
    std::vector<std::string> empty_;                             // labels
    RunningHeads heads_;
    uint64_t progress_ = 0;
    Clock::duration measured_{}; // time
};

} // namespace

void parse_pdf(std::string_view document, TextWriter& writer)
{
    writer.begin("PDF");
    QLoggingCategory::setFilterRules(QStringLiteral("qt.pdf.*=false"));
    QByteArray bytes = QByteArray::fromRawData(document.data(), static_cast<qsizetype>(document.size()));
    QBuffer buffer(&bytes);
    buffer.open(QIODevice::ReadOnly);
    QPdfDocument pdf;
    open(pdf, buffer);
    Reader(pdf, writer).run();
}

} // namespace palimpsest::reader
