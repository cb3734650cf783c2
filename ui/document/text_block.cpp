#include "ui/document/text_block.h"

#include <QLocale>
#include <algorithm>

#include "engine/text/unicode/utf8.h"

namespace palimpsest::ui {
namespace {

// Whether `code` is invisible or changes how others look. Joiners and direction marks are not counted, because some
// scripts need them.
bool hides(char32_t code)
{
    return code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0x180E || code == 0x200B ||
           (code >= 0x2028 && code <= 0x202E) || (code >= 0x2060 && code <= 0x206F) || code == 0xFEFF ||
           (code >= 0xFFF9 && code <= 0xFFFB) || (code >= 0xE0000 && code <= 0xE007F);
}

TextBlock framing(const TextPart& part)
{
    TextBlock block{.range = part.range, .kind = part.kind, .begins_part = true, .text = {}, .starts = {}};
    block.starts.assign(part.range.last - part.range.first + 1, 0);
    return block;
}

} // namespace

void append_shown(char32_t code, QString& text)
{
    if (code == U'\n') {
        text += QChar(QChar::LineSeparator);
    } else if (code == U'\t' || !hides(code)) {
        text += QStringView(QChar::fromUcs4(code));
    } else if (code < 0x20) {
        text += QChar(static_cast<char16_t>(0x2400 + code)); // Unicode's symbol for the control character
    } else {
        text += QStringLiteral("‹U+%1›").arg(static_cast<uint>(code), 4, 16, QLatin1Char('0')).toUpper();
    }
}

uint64_t TextBlock::token_at(int position) const
{
    const auto after = std::upper_bound(starts.begin(), std::prev(starts.end()), position);
    return range.first + static_cast<uint64_t>(std::max<std::ptrdiff_t>(after - starts.begin() - 1, 0));
}

std::optional<std::string_view> BlockReader::bytes(uint64_t token)
{
    if (!page_ || !page_->has(token)) page_ = source_.page(token);
    if (page_ && page_->has(token)) return page_->bytes(token);
    missing_ = true;
    return std::nullopt;
}

bool BlockReader::ends_line(uint64_t token)
{
    const auto text = bytes(token);
    return text && text->find('\n') != std::string_view::npos;
}

uint64_t BlockReader::cut_near(uint64_t border, StreamRange part)
{
    if (border < part.first + reach || border + reach + slack > part.last) return 0;
    for (uint64_t token = border - reach; token < border + reach + slack; ++token)
        if (ends_line(token) || missing_) return 0;
    uint64_t otherwise = 0;
    for (uint64_t token = border; token < border + slack; ++token) {
        const auto text = bytes(token);
        if (!text || text->empty()) continue;
        if (text->front() == ' ') return token;
        if (otherwise == 0 && !engine::is_utf8_continuation(text->front())) otherwise = token;
    }
    return otherwise ? otherwise : border;
}

bool BlockReader::is_cut(uint64_t token, StreamRange part)
{
    const uint64_t border = token / spacing * spacing;
    if (border == 0 || token - border >= slack) return false;
    const auto known = std::ranges::find(cuts_, border, [](const auto& cut) { return cut.first; });
    if (known != cuts_.end()) return known->second == token;
    const uint64_t cut = cut_near(border, part);
    cuts_[next_cut_++ % cuts_.size()] = {border, cut};
    return cut == token;
}

std::optional<TextBlock> BlockReader::block_of(uint64_t token)
{
    const TextPart& part = source_.outline().part_of(token);
    if (part.kind == PartKind::Framing) return framing(part);
    cuts_ = {}, missing_ = false;
    uint64_t first = token, last = token + 1;
    while (first > part.range.first && !is_cut(first, part.range) && !ends_line(first - 1) && !missing_)
        --first;
    while (last < part.range.last && !missing_ && !ends_line(last - 1) && !is_cut(last, part.range))
        ++last;
    TextBlock block{.range = {first, last},
                    .kind = part.kind,
                    .begins_part = first == part.range.first,
                    .text = {},
                    .starts = {}};
    engine::Utf8Decoder decoder;
    const auto put = [&](char32_t code, size_t, bool) { append_shown(code, block.text); };
    for (uint64_t at = first; at < last && !missing_; ++at) {
        block.starts.push_back(static_cast<int>(block.text.size()));
        for (const char byte : bytes(at).value_or(std::string_view()))
            decoder.push(static_cast<unsigned char>(byte), put);
    }
    if (missing_) return std::nullopt;
    decoder.finish(put);
    if (block.text.endsWith(QChar(QChar::LineSeparator))) block.text.chop(1);
    block.starts.push_back(static_cast<int>(block.text.size()));
    for (int& start : block.starts)
        start = std::min(start, static_cast<int>(block.text.size()));
    return block;
}

} // namespace palimpsest::ui
