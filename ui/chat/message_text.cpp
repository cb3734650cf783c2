// The text of a laid-out message: hit testing, text between two places, and lists for menus.
#include <QTextBoundaryFinder>
#include <algorithm>

#include "ui/chat/laid_block.h"
#include "ui/chat/message_layout.h"

namespace palimpsest::ui {
MessageLayout::Spot MessageLayout::spot_at(const QPointF& at) const
{
    Spot spot;
    if (parts_.empty()) return spot;
    const size_t p = part_at(static_cast<int>(at.y()));
    const LaidPart& part = parts_[p];
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
        const LaidBox* nearest = nullptr;
        for (const LaidBox& box : laid.boxes)
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

QString MessageLayout::code_at(const TextPosition& place) const
{
    const int group = message_.segments()[place.segment].group;
    if (group >= 0) return message_.text_of_group(group);
    const LaidPart& part = parts_[place.segment];
    QString out;
    for (size_t b = part.blocks[place.block].first_piece; b < part.blocks.size(); ++b) {
        if (!out.isEmpty() && !part.blocks[b].block.joins) out += QLatin1Char('\n');
        out += text_of(part.blocks[b].block);
        if (part.blocks[b].block.last) break;
    }
    return out;
}

std::vector<Block> MessageLayout::blocks_of(size_t p) const
{
    if (p >= parts_.size() || !parts_[p].parsed) return message_.blocks(p);
    std::vector<Block> blocks;
    for (const LaidBlock& laid : parts_[p].blocks)
        blocks.push_back(laid.block);
    return blocks;
}

TextPosition MessageLayout::end() const
{
    if (message_.segments().empty()) return {};
    const size_t p = message_.segments().size() - 1;
    const std::vector<Block> blocks = blocks_of(p);
    return blocks.empty() ? TextPosition{p, 0, 0} : TextPosition{p, blocks.size() - 1, length_of(blocks.back())};
}

QString MessageLayout::text_between(const TextPosition& from, const TextPosition& to) const
{
    QString out;
    bool in_list = false; // whether the previous block is in a list or quote
    for (size_t p = from.segment; p <= to.segment && p < message_.segments().size(); ++p) {
        const std::vector<Block> blocks = blocks_of(p);
        for (size_t b = p == from.segment ? from.block : 0; b < blocks.size(); ++b) {
            const Block& block = blocks[b];
            if (TextPosition{p, b, 0} > to) break;
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

QString MessageLayout::source_between(const TextPosition& from, const TextPosition& to) const
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
        const bool begins = p > from.segment || from == TextPosition{p, 0, 0};
        const int first = begins || blocks.empty() ? 0 : blocks[std::min(from.block, blocks.size() - 1)].first_line;
        const int last = whole_end || blocks.empty() ? segment.lines + 2
                                                     : blocks[std::min(to.block, blocks.size() - 1)].last_line;
        out += message_.source_of(p, first, std::max(first, last));
    }
    return out;
}

TextSelection MessageLayout::word_at(const TextPosition& place) const
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
    for (const LaidPart& part : parts_)
        for (const LaidBlock& laid : part.blocks)
            if (laid.block.first) out += laid.block.links;
    out.removeDuplicates();
    return out;
}

std::vector<TextPosition> MessageLayout::code_places() const
{
    std::vector<TextPosition> out;
    for (size_t p = 0; p < parts_.size(); ++p)
        for (size_t b = 0; b < parts_[p].blocks.size(); ++b) {
            const Block& block = parts_[p].blocks[b].block;
            if (block.kind == Block::Kind::Code && block.first) out.push_back({p, b, 0});
        }
    return out;
}

std::vector<TextPosition> MessageLayout::collapsed_places() const
{
    std::vector<TextPosition> out;
    for (size_t p = 0; p < parts_.size(); ++p)
        for (size_t b = 0; b < parts_[p].blocks.size(); ++b)
            if (more_lines(p, b) > 0) out.push_back({p, b, 0});
    return out;
}

} // namespace palimpsest::ui
