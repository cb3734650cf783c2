#include "ui/chat/message_layout.h"

#include <algorithm>

#include "ui/chat/laid_block.h"

namespace palimpsest::ui {
namespace {

constexpr size_t pieces_shown = 4; // pieces of long code, text or a table that are shown before "show all"

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

} // namespace

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

// Keeps the parts before `first`. Those behind it that were parsed are parsed again at once, and unchanged blocks
// keep their layout.
void MessageLayout::refresh(size_t first)
{
    const std::vector<Segment>& segments = message_.segments();
    if (!style_) return;
    first = std::min({first, parts_.size(), segments.size()});
    std::vector<LaidPart> old(std::make_move_iterator(parts_.begin() + static_cast<std::ptrdiff_t>(first)),
                              std::make_move_iterator(parts_.end()));
    parts_.resize(segments.size());
    group_sizes_.assign(segments.size(), 0);
    for (const Segment& segment : segments)
        if (segment.group >= 0) ++group_sizes_[static_cast<size_t>(segment.group)];
    for (size_t p = first; p < parts_.size(); ++p) {
        parts_[p] = LaidPart{};
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
    LaidPart& part = parts_[p];
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
        // Boxes from `old` still point to the texts of the block that was replaced.
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
    const LaidPart& part = parts_[p];
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

int MessageLayout::gap_before(const LaidPart& part, size_t b) const
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
    LaidPart& part = parts_[p];
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
        // If a part starts above `top`, the range moves down by what the part grows: visible text stays in place.
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

} // namespace palimpsest::ui
