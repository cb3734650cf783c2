#include "ui/chat/markdown.h"

#include <QCoreApplication>
#include <QLocale>
#include <algorithm>
#include <array>
#include <md4c.h>
#include <optional>
#include <utility>

#include "ui/base/visible_text.h"

namespace palimpsest::ui {
namespace {

constexpr int address_shown = 200; // UTF-16 units of an address shown in the text

struct MarkdownWords {
    Q_DECLARE_TR_FUNCTIONS(palimpsest::ui::Markdown)
};

QString address_note(const QString& address)
{
    if (address.size() <= address_shown) return address;
    return MarkdownWords::tr("%1… (%2 characters)")
        .arg(address.left(address_shown), QLocale().toString(address.size()));
}

bool may_be_opened(const QString& address)
{
    constexpr std::array<const char*, 3> schemes{"https://", "http://", "mailto:"};
    return std::any_of(schemes.begin(), schemes.end(), [&](const char* scheme) {
        return address.startsWith(QLatin1String(scheme), Qt::CaseInsensitive);
    });
}

// Returns the character of "&NAME;" or "&#N;", if it is plainly visible: an entity must not bring back a character
// that visible_text() has escaped.
std::optional<char32_t> character_of(std::string_view entity)
{
    struct Named {
        std::string_view name;
        char32_t character;
    };
    static constexpr std::array<Named, 22> names{{
        {"amp", '&'},       {"lt", '<'},       {"gt", '>'},       {"quot", '"'},     {"apos", '\''},
        {"nbsp", 0xa0},     {"copy", 0xa9},    {"reg", 0xae},     {"deg", 0xb0},     {"sect", 0xa7},
        {"para", 0xb6},     {"middot", 0xb7},  {"times", 0xd7},   {"ndash", 0x2013}, {"mdash", 0x2014},
        {"lsquo", 0x2018},  {"rsquo", 0x2019}, {"ldquo", 0x201c}, {"rdquo", 0x201d}, {"bull", 0x2022},
        {"hellip", 0x2026}, {"euro", 0x20ac},
    }};
    entity.remove_prefix(1);
    entity.remove_suffix(1);
    if (!entity.starts_with('#')) {
        const auto* it = std::find_if(names.begin(), names.end(), [&](const Named& n) { return n.name == entity; });
        return it == names.end() ? std::nullopt : std::optional(it->character);
    }
    entity.remove_prefix(1);
    const bool hex = entity.starts_with('x') || entity.starts_with('X');
    bool fits = false;
    const uint code = QByteArray::fromRawData(entity.data() + (hex ? 1 : 0),
                                              static_cast<qsizetype>(entity.size()) - (hex ? 1 : 0))
                          .toUInt(&fits, hex ? 16 : 10);
    const bool shown = fits && code >= 0x20 && code <= 0x10ffff && is_plainly_visible(code);
    return shown ? std::optional<char32_t>(code) : std::nullopt;
}

QString decoded(MD_TEXTTYPE type, const char* text, MD_SIZE size)
{
    if (type == MD_TEXT_ENTITY)
        if (const auto character = character_of({text, size})) return QString::fromUcs4(&*character, 1);
    return QString::fromUtf8(text, static_cast<qsizetype>(size));
}

QString decoded(const MD_ATTRIBUTE& attribute)
{
    QString out;
    for (int i = 0; attribute.text && attribute.substr_offsets[i] < attribute.size; ++i) {
        const MD_OFFSET begin = attribute.substr_offsets[i];
        out += decoded(attribute.substr_types[i], attribute.text + begin, attribute.substr_offsets[i + 1] - begin);
    }
    return out;
}

// Builds blocks from md4c's events; stops the parser when a limit is exceeded.
class BlockBuilder {
public:
    BlockBuilder(const QByteArray& source, const MarkdownLimits& limits) : source_(source), limits_(limits)
    {
        for (qsizetype at = 0; at >= 0; at = source.indexOf('\n', at))
            line_starts_.push_back(at++);
        line_starts_.front() = 0;
    }

    int enter(MD_BLOCKTYPE type, void* detail);
    int leave(MD_BLOCKTYPE type);
    int enter(MD_SPANTYPE type, void* detail);
    int leave(MD_SPANTYPE type);
    int text(MD_TEXTTYPE type, const char* text, MD_SIZE size);

    // Why the text was refused; empty if it was not. After a refusal, take() must not be used.
    const QString& refused() const { return refused_; }
    std::vector<Block> take() { return std::move(blocks_); }

private:
    struct List {
        bool ordered = false, tight = false;
        quint64 next = 1;
        QChar mark;
    };

    int refuse(const char* why)
    {
        refused_ = MarkdownWords::tr(why);
        return 1;
    }
    // md4c may call back a few more times after it was told to stop.
    bool is_refused() const { return !refused_.isEmpty(); }
    bool is_open() const { return open_; }
    void open(Block::Kind kind);
    int close();
    void add_around(bool quote, const QString& marker);
    void open_item(const MD_BLOCK_LI_DETAIL& item);
    void append(const QString& text);
    void note_line(const char* text);
    int open_link(const MD_SPAN_A_DETAIL& detail);
    int finish_table();
    void add_table_piece(size_t first_row, size_t rows, bool heads);
    int finish_long();

    const QByteArray& source_;
    const MarkdownLimits& limits_;
    std::vector<qsizetype> line_starts_; // offsets in source_
    std::vector<Block> blocks_;
    std::vector<Around> around_;
    std::vector<List> lists_;
    Block block_; // being built, if open_
    bool open_ = false;
    std::array<int, 4> style_depth_{}; // nesting depth of each TextStyle
    int link_ = -1;
    std::vector<QString> after_link_; // text appended at the end of each open link or image
    int cells_ = 0, links_ = 0, line_ = 0;
    QString refused_;
};

void BlockBuilder::open(Block::Kind kind)
{
    open_ = true;
    block_ = {};
    block_.kind = kind;
    block_.around = around_;
    for (Around& a : around_)
        a.marker.clear();
    block_.close = !lists_.empty() && lists_.back().tight;
    block_.first_line = block_.last_line = line_;
    if (kind != Block::Kind::Rule && kind != Block::Kind::Table) block_.texts.emplace_back();
}

int BlockBuilder::close()
{
    if (!open_) return 0;
    open_ = false;
    if (block_.kind == Block::Kind::Table) return finish_table();
    if (block_.kind == Block::Kind::Code && block_.texts[0].text.endsWith(QLatin1Char('\n')))
        block_.texts[0].text.chop(1);
    return finish_long();
}

// Splits a block that is longer than one piece, so that laying out a piece takes little time.
int BlockBuilder::finish_long()
{
    const bool code = block_.kind == Block::Kind::Code;
    const auto add = [&](Block piece) {
        blocks_.push_back(std::move(piece));
        return static_cast<int>(blocks_.size()) > limits_.blocks
                   ? refuse(QT_TRANSLATE_NOOP("palimpsest::ui::Markdown",
                                              "Too many blocks to be laid out: shown as plain text."))
                   : 0;
    };
    if (block_.texts.empty() || (block_.texts[0].text.size() <= limits_.piece && !code))
        return add(std::move(block_));
    const InlineText whole = block_.texts[0];
    if (code) {
        std::vector<Block> pieces = plain_blocks(whole.text, Block::Kind::Code, limits_);
        for (Block& piece : pieces) {
            piece.around = piece.first ? block_.around : around_;
            piece.close = block_.close;
            piece.language = block_.language;
            piece.first_line = block_.first_line;
            piece.last_line = block_.last_line;
            if (const int stop = add(std::move(piece))) return stop;
        }
        return 0;
    }
    for (qsizetype at = 0; at < whole.text.size();) {
        const qsizetype length = cut_point(QStringView(whole.text).mid(at), limits_.piece);
        Block piece = block_;
        piece.first = at == 0;
        piece.joins = !piece.first;
        piece.last = at + length == whole.text.size();
        if (!piece.first) piece.around = around_;
        piece.texts[0] = {whole.text.mid(at, length), {}};
        for (const Span& span : whole.spans) {
            const qsizetype begin = std::max<qsizetype>(span.start, at);
            const qsizetype end = std::min<qsizetype>(span.start + span.length, at + length);
            if (begin < end)
                piece.texts[0].spans.push_back(
                    {static_cast<int>(begin - at), static_cast<int>(end - begin), span.styles, span.link});
        }
        if (const int stop = add(std::move(piece))) return stop;
        at += length;
    }
    return 0;
}

void BlockBuilder::add_table_piece(size_t first_row, size_t rows, bool heads)
{
    Block piece = block_;
    const auto columns = static_cast<size_t>(block_.columns);
    const auto begin = block_.texts.begin() + static_cast<std::ptrdiff_t>(first_row * columns);
    piece.texts.assign(begin, begin + static_cast<std::ptrdiff_t>(rows * columns));
    piece.heads = heads;
    piece.first = heads;
    piece.last = (first_row + rows) * columns == block_.texts.size();
    if (!heads) piece.around = around_;
    blocks_.push_back(std::move(piece));
}

// Returns the width in characters, at most 60; wide scripts count twice.
int places_of(const QString& text)
{
    constexpr int most = 60;
    int places = 0;
    for (const QChar c : text) {
        places += c.unicode() >= 0x1100 ? 2 : 1;
        if (places >= most) return most;
    }
    return places;
}

int BlockBuilder::finish_table()
{
    if (block_.columns > limits_.columns)
        return refuse(QT_TRANSLATE_NOOP("palimpsest::ui::Markdown",
                                        "A table with too many columns to be laid out: shown as plain text."));
    const auto columns = static_cast<size_t>(block_.columns);
    block_.widths.assign(columns, 1);
    for (size_t i = 0; i < block_.texts.size(); ++i)
        block_.widths[i % columns] = std::max(block_.widths[i % columns], places_of(block_.texts[i].text));
    const size_t rows = block_.texts.size() / columns;
    const auto step = static_cast<size_t>(std::max(1, limits_.piece_cells / block_.columns));
    for (size_t row = 0; row < rows; row += step)
        add_table_piece(row, std::min(step, rows - row), row == 0);
    return static_cast<int>(blocks_.size()) > limits_.blocks
               ? refuse(QT_TRANSLATE_NOOP("palimpsest::ui::Markdown",
                                          "Too many blocks to be laid out: shown as plain text."))
               : 0;
}

void BlockBuilder::add_around(bool quote, const QString& marker)
{
    around_.push_back({quote, marker});
}

void BlockBuilder::open_item(const MD_BLOCK_LI_DETAIL& item)
{
    if (lists_.empty()) return add_around(false, {});
    List& list = lists_.back();
    QString marker = list.ordered ? QStringLiteral("%1%2").arg(list.next++).arg(list.mark) : QStringLiteral("•");
    if (item.is_task) marker = item.task_mark == ' ' ? QStringLiteral("☐") : QStringLiteral("☑");
    add_around(false, marker);
}

int BlockBuilder::enter(MD_BLOCKTYPE type, void* detail)
{
    if (is_refused()) return 1;
    if (type != MD_BLOCK_TH && type != MD_BLOCK_TD && type != MD_BLOCK_TR && type != MD_BLOCK_THEAD &&
        type != MD_BLOCK_TBODY)
        if (const int stop = close()) return stop;
    switch (type) {
    case MD_BLOCK_QUOTE:
        add_around(true, {});
        break;
    case MD_BLOCK_UL:
        lists_.push_back({false, static_cast<MD_BLOCK_UL_DETAIL*>(detail)->is_tight != 0, 1, {}});
        break;
    case MD_BLOCK_OL: {
        const auto& list = *static_cast<MD_BLOCK_OL_DETAIL*>(detail);
        lists_.push_back({true, list.is_tight != 0, list.start, QLatin1Char(list.mark_delimiter)});
        break;
    }
    case MD_BLOCK_LI:
        open_item(*static_cast<MD_BLOCK_LI_DETAIL*>(detail));
        break;
    case MD_BLOCK_P:
        open(Block::Kind::Paragraph);
        break;
    case MD_BLOCK_H:
        open(Block::Kind::Heading);
        block_.level = static_cast<int>(static_cast<MD_BLOCK_H_DETAIL*>(detail)->level);
        break;
    case MD_BLOCK_CODE:
        open(Block::Kind::Code);
        block_.language = decoded(static_cast<MD_BLOCK_CODE_DETAIL*>(detail)->lang).left(40);
        break;
    case MD_BLOCK_HR:
        open(Block::Kind::Rule);
        return close();
    case MD_BLOCK_TABLE:
        open(Block::Kind::Table);
        block_.columns = static_cast<int>(static_cast<MD_BLOCK_TABLE_DETAIL*>(detail)->col_count);
        break;
    case MD_BLOCK_TH:
    case MD_BLOCK_TD: {
        if (++cells_ > limits_.cells)
            return refuse(QT_TRANSLATE_NOOP("palimpsest::ui::Markdown",
                                            "A table with too many cells to be laid out: shown as plain text."));
        block_.texts.emplace_back();
        const MD_ALIGN align = static_cast<MD_BLOCK_TD_DETAIL*>(detail)->align;
        if (type == MD_BLOCK_TH)
            block_.alignments.push_back(align == MD_ALIGN_CENTER  ? Qt::AlignHCenter
                                        : align == MD_ALIGN_RIGHT ? Qt::AlignRight
                                                                  : Qt::AlignLeft);
        break;
    }
    default:
        break;
    }
    if (static_cast<int>(around_.size()) > limits_.depth)
        return refuse(QT_TRANSLATE_NOOP("palimpsest::ui::Markdown",
                                        "Nested too deeply to be laid out: shown as plain text."));
    return 0;
}

int BlockBuilder::leave(MD_BLOCKTYPE type)
{
    if (is_refused()) return 1;
    switch (type) {
    case MD_BLOCK_QUOTE:
    case MD_BLOCK_LI:
        if (const int stop = close()) return stop;
        // An empty list item has no block yet: add one that shows the marker.
        if (!around_.empty() && !around_.back().marker.isEmpty()) {
            open(Block::Kind::Paragraph);
            if (const int stop = close()) return stop;
        }
        if (!around_.empty()) around_.pop_back();
        return 0;
    case MD_BLOCK_UL:
    case MD_BLOCK_OL:
        if (!lists_.empty()) lists_.pop_back();
        return 0;
    case MD_BLOCK_P:
    case MD_BLOCK_H:
    case MD_BLOCK_CODE:
    case MD_BLOCK_TABLE:
        return close();
    default:
        return 0;
    }
}

int BlockBuilder::open_link(const MD_SPAN_A_DETAIL& detail)
{
    const QString address = decoded(detail.href);
    const bool opens = may_be_opened(address) && address.size() <= limits_.address;
    if (opens && ++links_ > limits_.links)
        return refuse(
            QT_TRANSLATE_NOOP("palimpsest::ui::Markdown", "Too many links to be laid out: shown as plain text."));
    after_link_.push_back(opens ? QString() : MarkdownWords::tr(" (%1)").arg(address_note(address)));
    if (!opens) return 0;
    link_ = static_cast<int>(block_.links.size());
    block_.links.push_back(address);
    return 0;
}

int BlockBuilder::enter(MD_SPANTYPE type, void* detail)
{
    if (is_refused()) return 1;
    if (!is_open()) open(Block::Kind::Paragraph);
    switch (type) {
    case MD_SPAN_EM:
        ++style_depth_[1];
        break;
    case MD_SPAN_STRONG:
        ++style_depth_[0];
        break;
    case MD_SPAN_CODE:
        ++style_depth_[2];
        break;
    case MD_SPAN_DEL:
        ++style_depth_[3];
        break;
    case MD_SPAN_A:
        return open_link(*static_cast<MD_SPAN_A_DETAIL*>(detail));
    case MD_SPAN_IMG:
        append(MarkdownWords::tr("[image: "));
        after_link_.push_back(
            MarkdownWords::tr(" (%1)]").arg(address_note(decoded(static_cast<MD_SPAN_IMG_DETAIL*>(detail)->src))));
        break;
    default:
        break;
    }
    return 0;
}

int BlockBuilder::leave(MD_SPANTYPE type)
{
    if (is_refused()) return 1;
    switch (type) {
    case MD_SPAN_EM:
        --style_depth_[1];
        break;
    case MD_SPAN_STRONG:
        --style_depth_[0];
        break;
    case MD_SPAN_CODE:
        --style_depth_[2];
        break;
    case MD_SPAN_DEL:
        --style_depth_[3];
        break;
    case MD_SPAN_A:
        link_ = -1;
        [[fallthrough]];
    case MD_SPAN_IMG:
        if (after_link_.empty()) break;
        append(after_link_.back());
        after_link_.pop_back();
        break;
    default:
        break;
    }
    return 0;
}

void BlockBuilder::append(const QString& text)
{
    if (text.isEmpty() || block_.texts.empty()) return;
    InlineText& out = block_.texts.back();
    uint8_t styles = 0;
    for (size_t i = 0; i < style_depth_.size(); ++i)
        if (style_depth_[i] > 0) styles |= static_cast<uint8_t>(1u << i);
    const int start = static_cast<int>(out.text.size()), length = static_cast<int>(text.size());
    out.text += text;
    if (!styles && link_ < 0) return;
    if (!out.spans.empty()) {
        Span& before = out.spans.back();
        if (before.start + before.length == start && before.styles == styles && before.link == link_) {
            before.length += length;
            return;
        }
    }
    out.spans.push_back({start, length, styles, link_});
}

void BlockBuilder::note_line(const char* text)
{
    if (text < source_.constData() || text >= source_.constData() + source_.size()) return;
    const auto next = std::upper_bound(line_starts_.begin(), line_starts_.end(), text - source_.constData());
    line_ = static_cast<int>(next - line_starts_.begin()) - 1;
    const bool begins = block_.texts.size() <= 1 && (block_.texts.empty() || block_.texts[0].text.isEmpty());
    if (begins) block_.first_line = line_;
    block_.last_line = std::max(block_.last_line, line_);
}

int BlockBuilder::text(MD_TEXTTYPE type, const char* text, MD_SIZE size)
{
    if (is_refused()) return 1;
    if (!is_open()) open(Block::Kind::Paragraph);
    note_line(text);
    if (type == MD_TEXT_BR)
        append(QString(QChar::LineSeparator));
    else if (type == MD_TEXT_SOFTBR)
        append(QStringLiteral(" "));
    else
        append(decoded(type, text, size));
    return 0;
}

int on_enter_block(MD_BLOCKTYPE type, void* detail, void* builder)
{
    return static_cast<BlockBuilder*>(builder)->enter(type, detail);
}

int on_leave_block(MD_BLOCKTYPE type, void*, void* builder)
{
    return static_cast<BlockBuilder*>(builder)->leave(type);
}

int on_enter_span(MD_SPANTYPE type, void* detail, void* builder)
{
    return static_cast<BlockBuilder*>(builder)->enter(type, detail);
}

int on_leave_span(MD_SPANTYPE type, void*, void* builder)
{
    return static_cast<BlockBuilder*>(builder)->leave(type);
}

int on_text(MD_TEXTTYPE type, const MD_CHAR* text, MD_SIZE size, void* builder)
{
    return static_cast<BlockBuilder*>(builder)->text(type, text, size);
}

std::vector<Block> refused_blocks(QStringView source, const QString& why, const MarkdownLimits& limits)
{
    std::vector<Block> blocks{note_block(why)};
    for (Block& block : plain_blocks(source, Block::Kind::Paragraph, limits))
        blocks.push_back(std::move(block));
    return blocks;
}

int lines_in(QStringView text)
{
    return static_cast<int>(text.count(QLatin1Char('\n')));
}

} // namespace

qsizetype cut_point(QStringView text, qsizetype limit)
{
    if (text.size() <= limit) return text.size();
    constexpr qsizetype near = 200;
    for (qsizetype i = limit; i > limit - near && i > 1; --i)
        if (text[i - 1] == QLatin1Char(' ')) return i;
    return text[limit - 1].isHighSurrogate() ? limit - 1 : limit;
}

std::vector<Block> plain_blocks(QStringView source, Block::Kind kind, const MarkdownLimits& limits)
{
    std::vector<Block> blocks;
    const QString shown = visible_text(source);
    const QStringView text(shown);
    int line = 0;
    qsizetype at = 0;
    bool joins = false;
    do {
        qsizetype length = 0, lines = 0;
        while (at + length < text.size() && lines < limits.piece_lines) {
            const qsizetype end = text.indexOf(QLatin1Char('\n'), at + length);
            const qsizetype next = (end < 0 ? text.size() : end + 1) - at;
            if (next > limits.piece && length > 0) break;
            length = next;
            ++lines;
        }
        if (length > limits.piece) length = cut_point(text.mid(at), limits.piece);
        QString piece = text.mid(at, length).toString();
        const bool ends_line = piece.endsWith(QLatin1Char('\n'));
        Block block;
        block.kind = kind;
        block.first_line = line;
        line += lines_in(piece);
        block.last_line = ends_line ? line - 1 : line;
        if (ends_line) piece.chop(1);
        block.texts.push_back({piece.replace(QLatin1Char('\n'), QChar::LineSeparator), {}});
        block.first = at == 0;
        at += length;
        block.last = at >= text.size();
        block.close = !block.first;
        block.joins = std::exchange(joins, !ends_line);
        blocks.push_back(std::move(block));
    } while (at < text.size());
    return blocks;
}

Block note_block(const QString& sentence)
{
    Block block;
    block.kind = Block::Kind::Note;
    block.texts.push_back({sentence, {}});
    return block;
}

QString text_of(const Block& block)
{
    QString out;
    for (size_t i = 0; i < block.texts.size(); ++i) {
        if (i > 0) out += i % static_cast<size_t>(block.columns) == 0 ? QLatin1Char('\n') : QLatin1Char('\t');
        out += block.texts[i].text;
    }
    return out.replace(QChar::LineSeparator, QLatin1Char('\n'));
}

int length_of(const Block& block)
{
    int length = std::max(0, static_cast<int>(block.texts.size()) - 1);
    for (const InlineText& text : block.texts)
        length += static_cast<int>(text.text.size());
    return length;
}

std::vector<Block> parse_markdown(QStringView source, const MarkdownLimits& limits)
{
    const QByteArray utf8 = visible_text(source).toUtf8();
    BlockBuilder builder(utf8, limits);
    const MD_PARSER parser{0,
                           MD_DIALECT_GITHUB | MD_FLAG_NOHTML,
                           on_enter_block,
                           on_leave_block,
                           on_enter_span,
                           on_leave_span,
                           on_text,
                           nullptr,
                           nullptr};
    const int stopped = md_parse(utf8.constData(), static_cast<MD_SIZE>(utf8.size()), &parser, &builder);
    if (!builder.refused().isEmpty()) return refused_blocks(source, builder.refused(), limits);
    std::vector<Block> blocks = builder.take();
    // If a text has nothing but link definitions, the parser yields no blocks: show the source.
    if (stopped != 0 || blocks.empty()) return plain_blocks(source, Block::Kind::Paragraph, limits);
    return blocks;
}

} // namespace palimpsest::ui
