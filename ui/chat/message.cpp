#include "ui/chat/message.h"

#include <QCoreApplication>
#include <algorithm>

#include "ui/base/visible_text.h"

namespace palimpsest::ui {
namespace {

constexpr qsizetype whole_limit = qsizetype{2} << 20;     // UTF-16 units; a longer message is shown as plain text
constexpr qsizetype markdown_limit = qsizetype{32} << 10; // UTF-16 units of a segment
constexpr qsizetype markdown_least = 512; // UTF-16 units; a shorter segment goes on after a blank line
constexpr MarkdownLimits limits;

bool is_blank(QStringView line)
{
    return std::all_of(line.begin(), line.end(), [](QChar c) { return c == u' ' || c == u'\t' || c == u'\r'; });
}

int indent_of(QStringView line)
{
    int n = 0;
    while (n < line.size() && line[n] == u' ')
        ++n;
    return n;
}

struct Fence {
    QChar mark;
    int length = 0; // 0: not a fence
    QStringView info;
};

Fence fence_of(QStringView line)
{
    const QStringView rest = line.mid(indent_of(line));
    if (rest.isEmpty() || (rest[0] != u'`' && rest[0] != u'~')) return {};
    int n = 0;
    while (n < rest.size() && rest[n] == rest[0])
        ++n;
    const QStringView info = rest.mid(n);
    if (n < 3 || (rest[0] == u'`' && info.contains(u'`'))) return {};
    return {rest[0], n, info};
}

bool shuts(QStringView line, QChar mark, int length)
{
    const Fence fence = fence_of(line);
    return fence.mark == mark && fence.length >= length && is_blank(fence.info);
}

bool is_list_item(QStringView line)
{
    int n = 0;
    while (n < line.size() && n < 9 && line[n] >= u'0' && line[n] <= u'9')
        ++n;
    if (n >= line.size()) return n > 0;
    const bool marked =
        n > 0 ? line[n] == u'.' || line[n] == u')' : line[n] == u'-' || line[n] == u'+' || line[n] == u'*';
    return marked && (n + 1 == line.size() || line[n + 1] == u' ' || line[n + 1] == u'\t');
}

QString note_of_length()
{
    return QCoreApplication::translate("palimpsest::ui::Markdown", "Too long to be laid out: shown as plain text.");
}

} // namespace

void Message::set_text(const QString& text, Format format)
{
    if (text.size() > whole_limit) format = Format::Plain;
    const bool grows = format == format_ && text.size() >= text_.size() && text.startsWith(text_);
    text_ = text;
    format_ = format;
    if (!grows) {
        solid_ = {};
        solid_count_ = 0;
    }
    // The last complete segment counts as changed, because its layout depends on whether another follows.
    first_changed_ = solid_count_ > 0 ? solid_count_ - 1 : 0;
    segments_.resize(solid_count_);
    Scan scan = solid_;
    scan_lines(scan, text_.lastIndexOf(QLatin1Char('\n')) + 1);
    solid_ = scan;
    solid_count_ = segments_.size();
    if (scan.next < text_.size()) scan_line(scan, scan.next, text_.size(), text_.size());
    if (scan.open) end_segment(scan, text_.size());
}

void Message::scan_lines(Scan& scan, qsizetype end)
{
    while (scan.next < end) {
        const qsizetype stop = text_.indexOf(QLatin1Char('\n'), scan.next);
        scan_line(scan, scan.next, stop, stop + 1);
    }
}

void Message::open_segment(Scan& scan, Segment::Kind kind, qsizetype begin, int group)
{
    scan.open = true;
    scan.segment = {kind, begin, begin, 0, group, false, false};
}

void Message::end_segment(Scan& scan, qsizetype end)
{
    scan.open = false;
    scan.segment.end = end;
    if (end > scan.segment.begin) segments_.push_back(scan.segment);
}

bool Message::begins_anew(const Scan& scan, QStringView line) const
{
    return scan.blank_before && !scan.inner_length && line[0] != u' ' && line[0] != u'\t' && !is_list_item(line) &&
           (scan.segment.kind == Segment::Kind::Plain || scan.next - scan.segment.begin >= markdown_least);
}

void Message::scan_line(Scan& scan, qsizetype begin, qsizetype end, qsizetype next)
{
    const QStringView line = QStringView(text_).mid(begin, end - begin);
    if (format_ == Format::Plain) {
        if (!scan.open) open_segment(scan, Segment::Kind::Plain, begin, 0);
        scan_piece_line(scan, begin, next);
    } else if (scan.open && scan.segment.kind == Segment::Kind::Code) {
        scan_code_line(scan, begin, end, next);
    } else if (const Fence fence = fence_of(line); fence.length && indent_of(line) == 0) {
        if (scan.open) end_segment(scan, begin);
        open_segment(scan, Segment::Kind::Code, begin, static_cast<int>(segments_.size()));
        scan.segment.opens = true;
        scan.fence = fence.mark;
        scan.fence_length = fence.length;
        scan.inner_length = 0;
        scan.blank_before = false;
    } else if (is_blank(line)) {
        scan.blank_before = true;
        ++scan.segment.lines;
        if (scan.open && next - scan.segment.begin > markdown_limit) end_segment(scan, begin);
    } else {
        if (scan.open && begins_anew(scan, line)) end_segment(scan, begin);
        if (!scan.open) open_segment(scan, Segment::Kind::Markdown, begin, -1);
        if (scan.segment.kind == Segment::Kind::Markdown && next - scan.segment.begin > markdown_limit) {
            end_segment(scan, begin);
            open_segment(scan, Segment::Kind::Plain, begin, static_cast<int>(segments_.size()));
        }
        if (scan.inner_length ? shuts(line, scan.inner_fence, scan.inner_length) : fence.length > 0) {
            scan.inner_fence = fence.mark;
            scan.inner_length = scan.inner_length ? 0 : fence.length;
        }
        scan.blank_before = false;
        if (scan.segment.kind == Segment::Kind::Plain)
            scan_piece_line(scan, begin, next);
        else
            ++scan.segment.lines;
    }
    scan.next = next;
}

void Message::scan_code_line(Scan& scan, qsizetype begin, qsizetype end, qsizetype next)
{
    if (!shuts(QStringView(text_).mid(begin, end - begin), scan.fence, scan.fence_length)) {
        scan_piece_line(scan, begin, next);
        return;
    }
    scan.segment.shuts = true;
    end_segment(scan, next);
}

// Adds a line of code or plain text to the open piece, or to a new one if that is full. Cuts a line that is longer
// than a piece.
void Message::scan_piece_line(Scan& scan, qsizetype begin, qsizetype next)
{
    const Segment piece = scan.segment;
    const bool full = piece.lines >= limits.piece_lines || next - piece.begin > limits.piece;
    if (full && begin > piece.begin && piece.lines > 0) {
        end_segment(scan, begin);
        open_segment(scan, piece.kind, begin, piece.group);
    }
    while (next - std::max(begin, scan.segment.begin) > limits.piece) {
        const qsizetype from = std::max(begin, scan.segment.begin);
        const qsizetype cut = from + cut_point(QStringView(text_).mid(from, next - from), limits.piece);
        scan.segment.lines = std::max(1, scan.segment.lines);
        end_segment(scan, cut);
        open_segment(scan, piece.kind, cut, piece.group);
    }
    ++scan.segment.lines;
}

QStringView Message::content(const Segment& segment) const
{
    QStringView text = QStringView(text_).mid(segment.begin, segment.end - segment.begin);
    if (segment.opens) {
        const qsizetype end = text.indexOf(QLatin1Char('\n'));
        text = end < 0 ? text.mid(text.size()) : text.mid(end + 1);
    }
    if (segment.shuts) {
        const bool ended = text.endsWith(QLatin1Char('\n'));
        const qsizetype last = text.chopped(ended ? 1 : 0).lastIndexOf(QLatin1Char('\n'));
        text = text.left(last + 1);
    }
    return text;
}

std::vector<Block> Message::blocks(size_t i) const
{
    const Segment& segment = segments_[i];
    if (segment.kind == Segment::Kind::Markdown) return parse_markdown(content(segment), limits);
    const bool code = segment.kind == Segment::Kind::Code;
    std::vector<Block> blocks =
        plain_blocks(content(segment), code ? Block::Kind::Code : Block::Kind::Paragraph, limits);
    const bool first = static_cast<size_t>(segment.group) == i;
    const bool last = i + 1 == segments_.size() || segments_[i + 1].group != segment.group;
    for (Block& block : blocks) {
        block.first &= first;
        block.last &= last;
        block.close = !block.first;
        block.first_line += segment.opens ? 1 : 0;
        block.last_line += segment.opens ? 1 : 0;
    }
    blocks.front().joins = !first && text_[segment.begin - 1] != QLatin1Char('\n');
    if (code && first) {
        const qsizetype end = text_.indexOf(QLatin1Char('\n'), segment.begin);
        const QStringView line =
            QStringView(text_).mid(segment.begin, (end < 0 ? segment.end : end) - segment.begin);
        const QString info = visible_text(fence_of(line).info.trimmed());
        blocks.front().language = info.section(QLatin1Char(' '), 0, 0).left(40);
    }
    if (!code && first && format_ == Format::Markdown) blocks.insert(blocks.begin(), note_block(note_of_length()));
    return blocks;
}

QString Message::source_of(size_t i, int first_line, int last_line) const
{
    const Segment& segment = segments_[i];
    const QStringView text = QStringView(text_).mid(segment.begin, segment.end - segment.begin);
    qsizetype begin = 0;
    for (int line = 0; line < first_line; ++line) {
        const qsizetype end = text.indexOf(QLatin1Char('\n'), begin);
        if (end < 0) break;
        begin = end + 1;
    }
    qsizetype end = begin;
    for (int line = first_line; line <= last_line && end < text.size(); ++line) {
        const qsizetype stop = text.indexOf(QLatin1Char('\n'), end);
        end = stop < 0 ? text.size() : stop + 1;
    }
    return text.mid(begin, end - begin).toString();
}

QString Message::text_of_group(int group) const
{
    QString out;
    for (size_t i = static_cast<size_t>(group); i < segments_.size() && segments_[i].group == group; ++i)
        out += content(segments_[i]);
    return out;
}

} // namespace palimpsest::ui
