#include "ui/chat/message_layout.h"

#include <QCoreApplication>
#include <QFontDatabase>
#include <QFontMetricsF>
#include <QLocale>
#include <QPainter>
#include <QTextBoundaryFinder>
#include <algorithm>
#include <cmath>

#include "ui/base/theme.h"

namespace palimpsest::ui {
namespace {

constexpr size_t pieces_shown = 4; // of long code, text and tables before "show all"
constexpr int deepest_indent = 8;

QString copy_label()
{
    return QCoreApplication::translate("palimpsest::ui::MessageLayout", "Copy");
}

QString show_all_label(int lines)
{
    return QCoreApplication::translate("palimpsest::ui::MessageLayout", "Show all %n line(s)", nullptr, lines);
}

bool is_collapsible(const Block& block, const Segment& segment)
{
    return block.kind == Block::Kind::Code || block.kind == Block::Kind::Table ||
           segment.kind == Segment::Kind::Plain;
}

int lines_of(const Block& block)
{
    if (block.kind == Block::Kind::Table) return static_cast<int>(block.texts.size()) / std::max(1, block.columns);
    return 1 + static_cast<int>(block.texts.empty() ? 0 : block.texts[0].text.count(QChar::LineSeparator));
}

int length_of(const Block& block)
{
    int length = std::max(0, static_cast<int>(block.texts.size()) - 1);
    for (const InlineText& text : block.texts)
        length += static_cast<int>(text.text.size());
    return length;
}

double heading_scale(int level)
{
    constexpr double scales[] = {1.5, 1.3, 1.15, 1.05, 1.0, 1.0};
    return scales[std::clamp(level, 1, 6) - 1];
}

// Columns that ask for less than their share keep it; the others divide what is left.
void fit_columns(std::vector<double>& widths, double width)
{
    std::vector<double> ascending = widths;
    std::sort(ascending.begin(), ascending.end());
    double left = width;
    for (size_t i = 0; i < ascending.size(); ++i) {
        const double share = left / static_cast<double>(ascending.size() - i);
        if (ascending[i] > share) {
            for (double& w : widths)
                w = std::min(w, share);
            return;
        }
        left -= ascending[i];
    }
}

QColor mixed(const QColor& a, const QColor& b, double share)
{
    const auto between = [&](float x, float y) { return static_cast<float>(x + (y - x) * share); };
    return QColor::fromRgbF(between(a.redF(), b.redF()), between(a.greenF(), b.greenF()),
                            between(a.blueF(), b.blueF()));
}

} // namespace

MessageStyle MessageStyle::of(const QFont& font, const QPalette& palette)
{
    MessageStyle style;
    style.font = font;
    style.code_font = QFontDatabase::systemFont(QFontDatabase::FixedFont);
    style.code_font.setPointSizeF(font.pointSizeF() > 0 ? font.pointSizeF() * 0.95 : 10);
    const QColor base = palette.color(QPalette::Base), text = palette.color(QPalette::Text);
    style.text = text;
    style.code_background = mixed(base, text, 0.055);
    QPalette on_base = palette;
    on_base.setColor(QPalette::Window, base);
    on_base.setColor(QPalette::WindowText, text);
    style.quiet = readable(secondary_text(on_base), on_base, QPalette::Window);
    style.link = readable(palette.color(QPalette::Link), on_base, QPalette::Window);
    style.line = separator(on_base);
    style.selection = palette.color(QPalette::Highlight);
    style.selected_text = palette.color(QPalette::HighlightedText);
    const QFontMetricsF metrics(font);
    style.line_height = static_cast<int>(std::ceil(metrics.height() * 1.25));
    style.character = std::max(1, static_cast<int>(metrics.averageCharWidth()));
    style.padding = static_cast<int>(metrics.height() * 0.5);
    style.indent = static_cast<int>(metrics.height() * 1.5);
    return style;
}

// One text of a block: a paragraph, or a cell.
struct MessageLayout::Box {
    std::unique_ptr<QTextLayout> layout;
    QPointF at; // from the block's top left
    double width = 0;
    int start = 0; // of the block's text
    const InlineText* text = nullptr;
};

struct MessageLayout::LaidBlock {
    Block block;
    size_t ordinal = 0, first_piece = 0; // among the pieces of one text; which block that begins with
    int y = 0, height = 0;               // from the part's top; the gap before is not in it
    bool laid = false;
    std::vector<Box> boxes;
    QRectF frame;
    std::vector<double> columns, rows; // lines of a table, with both ends
};

struct MessageLayout::Part {
    bool parsed = false;
    int height = 0; // with the gap after
    std::vector<LaidBlock> blocks;
};

MessageLayout::MessageLayout() = default;
MessageLayout::~MessageLayout() = default;
MessageLayout::MessageLayout(MessageLayout&&) noexcept = default;
MessageLayout& MessageLayout::operator=(MessageLayout&&) noexcept = default;

void MessageLayout::set_text(const QString& text, Message::Format format)
{
    message_.set_text(text, format);
    refresh(message_.first_changed());
}

void MessageLayout::set_geometry(const MessageStyle& style, int width)
{
    style_ = &style;
    width_ = width;
    parts_.clear();
    refresh(0);
}

// Parts before `first` stay; parts after it that were parsed are parsed again at once, and blocks that are as they
// were keep their layout.
void MessageLayout::refresh(size_t first)
{
    const std::vector<Segment>& segments = message_.segments();
    if (!style_) return;
    first = std::min({first, parts_.size(), segments.size()});
    std::vector<Part> old(std::make_move_iterator(parts_.begin() + static_cast<std::ptrdiff_t>(first)),
                          std::make_move_iterator(parts_.end()));
    parts_.resize(segments.size());
    group_sizes_.assign(segments.size(), 0);
    for (const Segment& segment : segments)
        if (segment.group >= 0) ++group_sizes_[static_cast<size_t>(segment.group)];
    for (size_t p = first; p < parts_.size(); ++p) {
        parts_[p] = Part{};
        const size_t was = p - first;
        if (was < old.size() && old[was].parsed) {
            parts_[p] = std::move(old[was]);
            parse(p);
        } else {
            parts_[p].height = estimated_height(segments[p]);
        }
    }
    tops_.resize(parts_.size() + 1, 0);
    update_tops(first);
}

void MessageLayout::parse(size_t p)
{
    Part& part = parts_[p];
    std::vector<LaidBlock> old = std::move(part.blocks);
    part.blocks.clear();
    part.parsed = true;
    const Segment& segment = message_.segments()[p];
    size_t ordinal = segment.group >= 0 ? p - static_cast<size_t>(segment.group) : 0, first_piece = 0;
    for (Block& block : message_.blocks(p)) {
        const size_t b = part.blocks.size();
        LaidBlock laid;
        if (segment.group < 0 && block.first) {
            ordinal = 0;
            first_piece = b;
        }
        if (b < old.size() && old[b].block == block) laid = std::move(old[b]);
        laid.block = std::move(block);
        laid.ordinal = ordinal;
        laid.first_piece = first_piece;
        if (segment.group < 0) ++ordinal;
        if (!laid.laid) laid.height = estimated_height(laid.block);
        // The texts moved: boxes look at them.
        for (size_t i = 0; i < laid.boxes.size(); ++i)
            laid.boxes[i].text = &laid.block.texts[i];
        part.blocks.push_back(std::move(laid));
    }
    place_blocks(p);
}

int MessageLayout::estimated_height(const Segment& segment) const
{
    const int in_line = std::max(8, width_ / style_->character);
    const auto lines = std::max<qsizetype>(segment.lines, (segment.end - segment.begin) / in_line + 1);
    return static_cast<int>(std::min<qsizetype>(lines, 20000)) * style_->line_height;
}

int MessageLayout::estimated_height(const Block& block) const
{
    const int in_line = std::max(8, width_ / style_->character);
    if (block.kind == Block::Kind::Table) return lines_of(block) * (style_->line_height + style_->padding);
    return std::max(lines_of(block), length_of(block) / in_line + 1) * style_->line_height;
}

int MessageLayout::row_height() const
{
    return style_->line_height + style_->padding / 2;
}

bool MessageLayout::is_hidden_part(size_t p) const
{
    const int group = message_.segments()[p].group;
    return group >= 0 && p - static_cast<size_t>(group) >= pieces_shown &&
           !expanded_.contains({static_cast<size_t>(group), 0});
}

bool MessageLayout::is_hidden(size_t p, size_t b) const
{
    const LaidBlock& laid = parts_[p].blocks[b];
    if (is_hidden_part(p)) return true;
    return message_.segments()[p].group < 0 && laid.ordinal >= pieces_shown &&
           is_collapsible(laid.block, message_.segments()[p]) && !expanded_.contains({p, laid.first_piece});
}

int MessageLayout::more_lines(size_t p, size_t b) const
{
    const Segment& segment = message_.segments()[p];
    const Part& part = parts_[p];
    const LaidBlock& laid = part.blocks[b];
    if (laid.ordinal + 1 != pieces_shown || laid.block.last || !is_collapsible(laid.block, segment)) return 0;
    if (segment.group >= 0) {
        const auto group = static_cast<size_t>(segment.group);
        if (b + 1 != part.blocks.size() || expanded_.contains({group, 0})) return 0;
        int lines = 0;
        const size_t end = group + static_cast<size_t>(group_sizes_[group]);
        for (size_t i = group; i < end; ++i)
            lines += message_.segments()[i].lines;
        return end > p + 1 ? lines : 0;
    }
    if (expanded_.contains({p, laid.first_piece})) return 0;
    int lines = 0;
    for (size_t i = laid.first_piece; i < part.blocks.size(); ++i) {
        lines += lines_of(part.blocks[i].block);
        if (part.blocks[i].block.last) break;
    }
    return lines;
}

double MessageLayout::indent_of(const Block& block) const
{
    return std::min<double>(static_cast<double>(block.around.size()), deepest_indent) * style_->indent;
}

int MessageLayout::gap_before(const Part& part, size_t b) const
{
    const Block& block = part.blocks[b].block;
    if (b == 0) return 0;
    if (!block.first) return block.kind == Block::Kind::Table ? -1 : 0;
    if (block.kind == Block::Kind::Heading) return style_->line_height * 3 / 4;
    const bool closes_up = block.close && !block.around.empty() && !part.blocks[b - 1].block.around.empty();
    return closes_up ? style_->padding / 3 : style_->padding;
}

void MessageLayout::place_blocks(size_t p)
{
    Part& part = parts_[p];
    const std::vector<Segment>& segments = message_.segments();
    if (is_hidden_part(p)) {
        part.height = 0;
        return;
    }
    int y = 0;
    for (size_t b = 0; b < part.blocks.size(); ++b) {
        LaidBlock& laid = part.blocks[b];
        if (is_hidden(p, b)) {
            laid.y = y;
            continue;
        }
        y += gap_before(part, b);
        laid.y = y;
        y += laid.height;
        if (more_lines(p, b) > 0) y += row_height();
    }
    const int group = segments[p].group;
    const bool goes_on = group >= 0 && p + 1 < segments.size() && segments[p + 1].group == group;
    const bool more = goes_on && !(p + 1 - static_cast<size_t>(group) >= pieces_shown && is_hidden_part(p + 1));
    part.height = y + (more ? 0 : p + 1 < segments.size() ? style_->padding : 0);
}

void MessageLayout::update_tops(size_t from)
{
    for (size_t p = from; p < parts_.size(); ++p) {
        if (!parts_[p].parsed && is_hidden_part(p)) parts_[p].height = 0;
        tops_[p + 1] = tops_[p] + parts_[p].height;
    }
}

size_t MessageLayout::part_at(int y) const
{
    const auto next = std::upper_bound(tops_.begin(), tops_.end() - 1, y);
    return next == tops_.begin() ? 0 : static_cast<size_t>(next - tops_.begin()) - 1;
}

bool MessageLayout::lay_out(int top, int bottom, const QDeadlineTimer& until, int* moved)
{
    *moved = 0;
    bool worked = false;
    for (size_t p = parts_.empty() ? 0 : part_at(top); p < parts_.size() && tops_[p] < bottom; ++p) {
        if (is_hidden_part(p)) continue;
        // What begins above grows upwards: what is being read stays where it is.
        const auto apply = [&](int before) {
            update_tops(p);
            const int by = parts_[p].height - before;
            if (tops_[p] >= top) return;
            *moved += by;
            top += by;
            bottom += by;
        };
        if (!parts_[p].parsed) {
            if (worked && until.hasExpired()) return false;
            worked = true;
            const int before = parts_[p].height;
            parse(p);
            apply(before);
        }
        for (size_t b = 0; b < parts_[p].blocks.size(); ++b) {
            const LaidBlock& laid = parts_[p].blocks[b];
            const int y = tops_[p] + laid.y;
            if (laid.laid || is_hidden(p, b) || y + laid.height < top || y > bottom) continue;
            if (worked && until.hasExpired()) return false;
            worked = true;
            const int before = parts_[p].height;
            const int was = laid.height;
            lay(p, b);
            place_blocks(p);
            update_tops(p);
            if (parts_[p].height == before || y >= top) continue;
            const int by = parts_[p].blocks[b].height - was;
            *moved += by;
            top += by;
            bottom += by;
        }
    }
    return true;
}

void MessageLayout::release(int top, int bottom, int reach)
{
    for (size_t p = 0; p < parts_.size(); ++p) {
        const bool near = tops_[p + 1] > top - reach && tops_[p] < bottom + reach;
        if (near || !parts_[p].parsed) continue;
        parts_[p].blocks.clear();
        parts_[p].blocks.shrink_to_fit();
        parts_[p].parsed = false;
    }
}

std::vector<QTextLayout::FormatRange> MessageLayout::formats(const Block& block, const InlineText& text) const
{
    std::vector<QTextLayout::FormatRange> out;
    for (const Span& span : text.spans) {
        QTextCharFormat format;
        const auto has = [&](TextStyle style) { return (span.styles & static_cast<uint8_t>(style)) != 0; };
        if (has(TextStyle::Bold)) format.setFontWeight(QFont::Bold);
        if (has(TextStyle::Italic)) format.setFontItalic(true);
        if (has(TextStyle::Struck)) format.setFontStrikeOut(true);
        if (has(TextStyle::Code)) {
            format.setFontFamilies({style_->code_font.family()});
            format.setBackground(style_->code_background);
        }
        if (span.link >= 0 && span.link < block.links.size()) {
            format.setForeground(style_->link);
            format.setFontUnderline(true);
        }
        out.push_back({span.start, span.length, format});
    }
    return out;
}

void MessageLayout::lay_inline(LaidBlock& laid, const InlineText& text, const QFont& font, double x, double y,
                               double width, Qt::Alignment alignment, int start)
{
    Box box;
    box.layout = std::make_unique<QTextLayout>(text.text, font);
    box.text = &text;
    box.start = start;
    box.width = width;
    const bool reads_leftwards = laid.block.kind != Block::Kind::Code && text.text.isRightToLeft();
    QTextOption option(reads_leftwards && alignment == Qt::AlignLeft ? Qt::Alignment(Qt::AlignRight) : alignment);
    option.setTextDirection(laid.block.kind == Block::Kind::Code ? Qt::LeftToRight : Qt::LayoutDirectionAuto);
    option.setWrapMode(QTextOption::WrapAtWordBoundaryOrAnywhere);
    option.setTabStopDistance(4 * style_->character);
    box.layout->setTextOption(option);
    box.layout->setCacheEnabled(true);
    const std::vector<QTextLayout::FormatRange> ranges = formats(laid.block, text);
    box.layout->setFormats(QVector<QTextLayout::FormatRange>(ranges.begin(), ranges.end()));
    const double leading = QFontMetricsF(font).height() * (laid.block.kind == Block::Kind::Code ? 0.1 : 0.25);
    double height = 0;
    box.layout->beginLayout();
    for (QTextLine line = box.layout->createLine(); line.isValid(); line = box.layout->createLine()) {
        line.setLineWidth(std::max(1.0, width));
        line.setPosition({0, height + leading / 2});
        height += std::ceil(line.height() + leading);
    }
    box.layout->endLayout();
    box.at = {x, y};
    laid.boxes.push_back(std::move(box));
    laid.height = std::max(laid.height, static_cast<int>(std::ceil(y + height)));
}

void MessageLayout::lay_code(LaidBlock& laid, double x, double width)
{
    const double head = laid.block.first ? row_height() : 0;
    const double padding = style_->padding;
    lay_inline(laid, laid.block.texts[0], style_->code_font, x + padding, head, width - 2 * padding, Qt::AlignLeft,
               0);
    if (laid.block.last) laid.height += style_->padding;
    laid.frame = QRectF(x, 0, width, laid.height);
}

void MessageLayout::lay_table(LaidBlock& laid, double x, double width)
{
    const Block& block = laid.block;
    const auto columns = static_cast<size_t>(block.columns);
    const double padding = style_->padding * 0.75;
    std::vector<double> widths;
    for (const int places : block.widths)
        widths.push_back((places + 1) * style_->character * 1.1 + 2 * padding);
    fit_columns(widths, width);
    laid.columns.assign(1, x);
    for (const double w : widths)
        laid.columns.push_back(std::floor(laid.columns.back() + w));
    laid.rows.assign(1, 0);
    int start = 0;
    double y = 0;
    for (size_t i = 0; i < block.texts.size(); ++i) {
        const size_t column = i % columns;
        QFont font = style_->font;
        if (block.heads && i < columns) font.setBold(true);
        const Qt::Alignment alignment =
            column < block.alignments.size() ? block.alignments[column] : Qt::Alignment(Qt::AlignLeft);
        lay_inline(laid, block.texts[i], font, laid.columns[column] + padding, y + padding / 2,
                   laid.columns[column + 1] - laid.columns[column] - 2 * padding, alignment, start);
        start += static_cast<int>(block.texts[i].text.size()) + 1;
        if (column + 1 == columns) {
            y = laid.height + padding / 2;
            laid.rows.push_back(std::floor(y));
        }
    }
    laid.height = static_cast<int>(std::ceil(y)) + 1;
}

void MessageLayout::lay(size_t p, size_t b)
{
    LaidBlock& laid = parts_[p].blocks[b];
    ++layouts_made_;
    laid.boxes.clear();
    laid.laid = true;
    laid.height = 0;
    const double x = indent_of(laid.block);
    const double width = std::max<double>(width_ - x, 6 * style_->character);
    switch (laid.block.kind) {
    case Block::Kind::Rule:
        laid.height = style_->line_height;
        return;
    case Block::Kind::Code:
        return lay_code(laid, x, width);
    case Block::Kind::Table:
        return lay_table(laid, x, width);
    default:
        break;
    }
    QFont font = style_->font;
    if (laid.block.kind == Block::Kind::Heading) {
        if (font.pointSizeF() > 0) font.setPointSizeF(font.pointSizeF() * heading_scale(laid.block.level));
        font.setBold(true);
    }
    if (laid.block.kind == Block::Kind::Note) font.setItalic(true);
    lay_inline(laid, laid.block.texts[0], font, x, 0, width, Qt::AlignLeft, 0);
}

QRectF MessageLayout::copy_rect(const LaidBlock& laid) const
{
    if (laid.block.kind != Block::Kind::Code || !laid.block.first) return {};
    const double width = QFontMetricsF(style_->font).horizontalAdvance(copy_label()) + 2 * style_->padding;
    return {laid.frame.right() - width, 0, width, static_cast<double>(row_height())};
}

void MessageLayout::paint_around(QPainter& painter, const LaidBlock& laid, double y) const
{
    const std::vector<Around>& around = laid.block.around;
    for (size_t i = 0; i < around.size() && i < deepest_indent; ++i) {
        const double x = static_cast<double>(i) * style_->indent;
        if (around[i].quote) {
            const double bar = std::max(2.0, style_->padding / 4.0);
            painter.fillRect(QRectF(x + style_->indent * 0.35, y, bar, laid.height), style_->line);
        } else if (!around[i].marker.isEmpty()) {
            painter.setFont(style_->font);
            painter.setPen(style_->quiet);
            painter.drawText(
                QRectF(x - style_->indent, y, 2 * style_->indent - style_->padding * 0.7, style_->line_height),
                Qt::AlignRight | Qt::AlignVCenter | Qt::TextDontClip, around[i].marker);
        }
    }
}

void MessageLayout::paint_frame(QPainter& painter, const LaidBlock& laid, double y) const
{
    if (laid.block.kind == Block::Kind::Rule) {
        painter.fillRect(QRectF(indent_of(laid.block), y + laid.height / 2, width_ - indent_of(laid.block), 1),
                         style_->line);
        return;
    }
    if (laid.block.kind == Block::Kind::Code) {
        painter.fillRect(laid.frame.translated(0, y), style_->code_background);
        if (!laid.block.first) return;
        painter.setFont(style_->font);
        painter.setPen(style_->quiet);
        const QRectF head(laid.frame.left() + style_->padding, y, laid.frame.width() - 2 * style_->padding,
                          row_height());
        painter.drawText(head, Qt::AlignLeft | Qt::AlignVCenter, laid.block.language);
        painter.drawText(head, Qt::AlignRight | Qt::AlignVCenter, copy_label());
        return;
    }
    for (size_t i = 0; i < laid.rows.size() && laid.columns.size() > 1; ++i)
        painter.fillRect(QRectF(laid.columns.front(), y + laid.rows[i], laid.columns.back() - laid.columns.front(),
                                laid.block.heads && i == 1 ? 2 : 1),
                         style_->line);
}

void MessageLayout::paint_block(QPainter& painter, size_t p, size_t b, double y,
                                const TextSelection* selection) const
{
    const LaidBlock& laid = parts_[p].blocks[b];
    paint_around(painter, laid, y);
    paint_frame(painter, laid, y);
    const TextPlace from{p, b, 0}, to{p, b, length_of(laid.block)};
    int begin = 0, end = 0;
    if (selection && selection->from < to && selection->to > from) {
        begin = std::max(selection->from, from) == from ? 0 : selection->from.offset;
        end = std::min(selection->to, to) == to ? to.offset : selection->to.offset;
    }
    painter.setPen(laid.block.kind == Block::Kind::Note ? style_->quiet : style_->text);
    for (const Box& box : laid.boxes) {
        QVector<QTextLayout::FormatRange> marked;
        const int first = std::max(begin, box.start) - box.start;
        const int last = std::min(end, box.start + static_cast<int>(box.text->text.size())) - box.start;
        if (first < last) {
            QTextCharFormat format;
            format.setBackground(style_->selection);
            format.setForeground(style_->selected_text);
            marked.push_back({first, last - first, format});
        }
        box.layout->draw(&painter, box.at + QPointF(0, y), marked);
    }
}

void MessageLayout::paint(QPainter& painter, int top, int bottom, const TextSelection* selection) const
{
    for (size_t p = parts_.empty() ? 0 : part_at(top); p < parts_.size() && tops_[p] < bottom; ++p) {
        const Part& part = parts_[p];
        for (size_t b = 0; b < part.blocks.size(); ++b) {
            const LaidBlock& laid = part.blocks[b];
            const double y = tops_[p] + laid.y;
            if (!laid.laid || is_hidden(p, b) || y + laid.height + row_height() < top || y > bottom) continue;
            painter.save();
            // Marks that stack without end stay within their block.
            painter.setClipRect(QRectF(-style_->indent, y, width_ + 2 * style_->indent, laid.height),
                                Qt::IntersectClip);
            paint_block(painter, p, b, y, selection);
            painter.restore();
            const int more = more_lines(p, b);
            if (more == 0) continue;
            painter.setFont(style_->font);
            painter.setPen(style_->link);
            painter.drawText(QRectF(indent_of(laid.block), y + laid.height, width_, row_height()),
                             Qt::AlignLeft | Qt::AlignVCenter, show_all_label(more));
        }
    }
}

std::optional<QRectF> MessageLayout::end_rect() const
{
    for (size_t p = parts_.size(); p-- > 0;) {
        if (!parts_[p].parsed || parts_[p].blocks.empty()) return std::nullopt;
        const LaidBlock& laid = parts_[p].blocks.back();
        if (is_hidden(p, parts_[p].blocks.size() - 1)) return std::nullopt;
        if (!laid.laid || laid.boxes.empty()) return std::nullopt;
        const Box& box = laid.boxes.back();
        const QTextLine line = box.layout->lineAt(box.layout->lineCount() - 1);
        if (!line.isValid()) return std::nullopt;
        const double x = line.cursorToX(line.textStart() + line.textLength());
        return QRectF(box.at.x() + x, tops_[p] + laid.y + box.at.y() + line.y(), 1, line.height());
    }
    return std::nullopt;
}

MessageLayout::Spot MessageLayout::spot_at(const QPointF& at) const
{
    Spot spot;
    if (parts_.empty()) return spot;
    const size_t p = part_at(static_cast<int>(at.y()));
    const Part& part = parts_[p];
    spot.place = {p, 0, 0};
    for (size_t b = 0; b < part.blocks.size(); ++b) {
        const LaidBlock& laid = part.blocks[b];
        const double y = at.y() - tops_[p] - laid.y;
        if (is_hidden(p, b) || y < 0) continue;
        spot.place = {p, b, y > laid.height ? length_of(laid.block) : 0};
        if (!laid.laid) continue;
        const int more = more_lines(p, b);
        if (more > 0 && y >= laid.height && y < laid.height + row_height()) spot.button = Button::ShowAll;
        if (copy_rect(laid).contains(at.x(), y)) spot.button = Button::CopyCode;
        const Box* nearest = nullptr;
        for (const Box& box : laid.boxes)
            if (!nearest || (y >= box.at.y() && (at.x() >= box.at.x() || nearest->at.y() < box.at.y())))
                nearest = &box;
        if (!nearest || y > laid.height) continue;
        const QPointF in = QPointF(at.x(), y) - nearest->at;
        for (int l = 0; l < nearest->layout->lineCount(); ++l) {
            const QTextLine line = nearest->layout->lineAt(l);
            if (l > 0 && in.y() < line.y()) break;
            const int cursor = line.xToCursor(in.x());
            spot.place.offset = nearest->start + cursor;
            const QRectF text = line.naturalTextRect();
            spot.on_text = text.contains(in);
            spot.link.clear();
            if (!spot.on_text) continue;
            const int character = line.xToCursor(in.x(), QTextLine::CursorOnCharacter);
            for (const Span& span : nearest->text->spans)
                if (span.link >= 0 && character >= span.start && character < span.start + span.length)
                    spot.link = laid.block.links[span.link];
        }
    }
    return spot;
}

void MessageLayout::press(const Spot& spot)
{
    const auto [p, b, offset] = spot.place;
    if (spot.button != Button::ShowAll || p >= parts_.size() || b >= parts_[p].blocks.size()) return;
    const int group = message_.segments()[p].group;
    expanded_.insert(group >= 0 ? std::pair(static_cast<size_t>(group), size_t{0})
                                : std::pair(p, parts_[p].blocks[b].first_piece));
    const size_t first = group >= 0 ? static_cast<size_t>(group) : p;
    for (size_t i = first; i < parts_.size() && (i == p || message_.segments()[i].group == group); ++i) {
        if (parts_[i].parsed)
            place_blocks(i);
        else
            parts_[i].height = estimated_height(message_.segments()[i]);
    }
    update_tops(first);
}

QString MessageLayout::code_at(const TextPlace& place) const
{
    const int group = message_.segments()[place.segment].group;
    if (group >= 0) return message_.text_of_group(group);
    const Part& part = parts_[place.segment];
    QString out;
    for (size_t b = part.blocks[place.block].first_piece; b < part.blocks.size(); ++b) {
        if (!out.isEmpty() && !part.blocks[b].block.joins) out += QLatin1Char('\n');
        out += text_of(part.blocks[b].block);
        if (part.blocks[b].block.last) break;
    }
    return out;
}

const std::vector<Block> MessageLayout::blocks_of(size_t p) const
{
    if (p >= parts_.size() || !parts_[p].parsed) return message_.blocks(p);
    std::vector<Block> blocks;
    for (const LaidBlock& laid : parts_[p].blocks)
        blocks.push_back(laid.block);
    return blocks;
}

TextPlace MessageLayout::end() const
{
    if (message_.segments().empty()) return {};
    const size_t p = message_.segments().size() - 1;
    const std::vector<Block> blocks = blocks_of(p);
    return blocks.empty() ? TextPlace{p, 0, 0} : TextPlace{p, blocks.size() - 1, length_of(blocks.back())};
}

QString MessageLayout::text_between(const TextPlace& from, const TextPlace& to) const
{
    QString out;
    bool in_list = false; // the block before is
    for (size_t p = from.segment; p <= to.segment && p < message_.segments().size(); ++p) {
        const std::vector<Block> blocks = blocks_of(p);
        for (size_t b = p == from.segment ? from.block : 0; b < blocks.size(); ++b) {
            const Block& block = blocks[b];
            if (TextPlace{p, b, 0} > to) break;
            const bool starts = p == from.segment && b == from.block;
            const bool ends = p == to.segment && b == to.block;
            const bool closes_up = block.close && (!block.first || in_list);
            in_list = !block.around.empty();
            if (!starts && !block.joins) out += closes_up ? QStringLiteral("\n") : QStringLiteral("\n\n");
            if ((!starts || from.offset == 0) && !block.around.empty() && !block.around.back().marker.isEmpty())
                out += block.around.back().marker + QLatin1Char(' ');
            const QString text = text_of(block);
            const int begin = starts ? from.offset : 0;
            out += QStringView(text).mid(begin, ends ? std::max(0, to.offset - begin) : -1);
        }
    }
    return out;
}

QString MessageLayout::source_between(const TextPlace& from, const TextPlace& to) const
{
    if (message_.segments().empty()) return {};
    QString out;
    for (size_t p = from.segment; p <= to.segment && p < message_.segments().size(); ++p) {
        const Segment& segment = message_.segments()[p];
        if (p != from.segment && p != to.segment) {
            out += QStringView(message_.text()).mid(segment.begin, segment.end - segment.begin);
            continue;
        }
        const std::vector<Block> blocks = blocks_of(p);
        const bool whole_end = p < to.segment || to >= end();
        const bool begins = p > from.segment || from == TextPlace{p, 0, 0};
        const int first = begins || blocks.empty() ? 0 : blocks[std::min(from.block, blocks.size() - 1)].first_line;
        const int last = whole_end || blocks.empty() ? segment.lines + 2
                                                     : blocks[std::min(to.block, blocks.size() - 1)].last_line;
        out += message_.source_of(p, first, std::max(first, last));
    }
    return out;
}

TextSelection MessageLayout::word_at(const TextPlace& place) const
{
    const std::vector<Block> blocks = blocks_of(place.segment);
    if (place.block >= blocks.size()) return {place, place};
    const QString text = text_of(blocks[place.block]);
    QTextBoundaryFinder words(QTextBoundaryFinder::Word, text);
    words.setPosition(std::min<qsizetype>(place.offset + 1, text.size()));
    const auto begin = std::max<qsizetype>(0, words.toPreviousBoundary());
    qsizetype end = words.toNextBoundary();
    if (end < 0) end = text.size();
    return {{place.segment, place.block, static_cast<int>(begin)},
            {place.segment, place.block, static_cast<int>(end)}};
}

QStringList MessageLayout::links() const
{
    QStringList out;
    for (const Part& part : parts_)
        for (const LaidBlock& laid : part.blocks)
            if (laid.block.first) out += laid.block.links;
    out.removeDuplicates();
    return out;
}

std::vector<TextPlace> MessageLayout::code_places() const
{
    std::vector<TextPlace> out;
    for (size_t p = 0; p < parts_.size(); ++p)
        for (size_t b = 0; b < parts_[p].blocks.size(); ++b) {
            const Block& block = parts_[p].blocks[b].block;
            if (block.kind == Block::Kind::Code && block.first) out.push_back({p, b, 0});
        }
    return out;
}

std::vector<TextPlace> MessageLayout::collapsed_places() const
{
    std::vector<TextPlace> out;
    for (size_t p = 0; p < parts_.size(); ++p)
        for (size_t b = 0; b < parts_[p].blocks.size(); ++b)
            if (more_lines(p, b) > 0) out.push_back({p, b, 0});
    return out;
}

} // namespace palimpsest::ui
