// Layout of one block of a message.
#include <QFontMetricsF>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "ui/chat/laid_block.h"
#include "ui/chat/message_layout.h"

namespace palimpsest::ui {
namespace {

double heading_scale(int level)
{
    constexpr double scales[] = {1.5, 1.3, 1.15, 1.05, 1.0, 1.0};
    return scales[std::clamp(level, 1, 6) - 1];
}

// Columns narrower than an equal share keep their width; the others divide the rest.
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

} // namespace

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
    LaidBox box;
    box.layout = std::make_unique<QTextLayout>(text.text, font);
    box.text = &text;
    box.start = start;
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
    if (laid.reads_leftwards) x += std::max(0.0, width - std::accumulate(widths.begin(), widths.end(), 0.0));
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

double MessageLayout::indent_of(const Block& block) const
{
    return std::min<double>(static_cast<double>(block.around.size()), deepest_indent) * style_->indent;
}

// A paragraph reads as its letters do. What has no direction of its own is indented as the paragraph before it in
// the same list or quote.
bool MessageLayout::reads_leftwards(size_t p, size_t b) const
{
    for (size_t i = b + 1; i-- > 0;) {
        const Block& block = parts_[p].blocks[i].block;
        const bool has_direction =
            block.kind != Block::Kind::Rule && block.kind != Block::Kind::Code && block.kind != Block::Kind::Table;
        if (i < b && block.around.empty()) return false;
        if (has_direction) return block.texts[0].text.isRightToLeft();
        if (block.around.empty()) return false;
    }
    return false;
}

void MessageLayout::lay(size_t p, size_t b)
{
    LaidBlock& laid = parts_[p].blocks[b];
    ++layouts_made_;
    laid.boxes.clear();
    laid.laid = true;
    laid.height = 0;
    laid.reads_leftwards = reads_leftwards(p, b);
    const double indent = indent_of(laid.block), x = laid.reads_leftwards ? 0 : indent;
    const double width = std::max<double>(width_ - indent, 6 * style_->character);
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

} // namespace palimpsest::ui
