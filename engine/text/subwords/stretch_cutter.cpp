#include "engine/text/subwords/stretch_cutter.h"

#include "engine/text/unicode/utf8.h"

namespace palimpsest::engine {
namespace {

constexpr size_t batch_bytes = 2048; // of several short lines, encoded together

} // namespace

size_t character_boundary(std::string_view text, size_t size)
{
    for (size_t cut = size; cut + 4 > size; --cut)
        if (!is_utf8_continuation(text[cut])) return cut;
    return size;
}

size_t cut_by_rule(std::string_view text)
{
    for (size_t cut = longest_stretch; cut > longest_stretch / 2; --cut)
        if (text[cut] == ' ' && text[cut - 1] != ' ') return cut;
    return character_boundary(text, longest_stretch);
}

void StretchCutter::note_piece(std::string_view piece)
{
    for (size_t end = piece.find('\n'); end != std::string_view::npos; end = piece.find('\n', end + 1)) {
        if (end + 1 == piece.size()) return;
        const std::string_view rest = piece.substr(end + 1);
        line_end_continues_[static_cast<unsigned char>(rest.front())] = true;
        if (rest.starts_with(space_mark)) line_end_continues_[' '] = true;
        needs_lookahead_ = true;
    }
}

size_t StretchCutter::next(std::string_view text, bool at_end) const
{
    if (!needs_lookahead_) { // encoding several lines at once is cheaper, with the same ids
        const size_t end = text.substr(0, batch_bytes).rfind('\n');
        if (end != std::string_view::npos) return end + 1;
    }
    const std::string_view window = text.substr(0, longest_stretch);
    for (size_t end = window.find('\n'); end != std::string_view::npos; end = window.find('\n', end + 1)) {
        if (end + 1 < text.size() && line_end_continues_[static_cast<unsigned char>(text[end + 1])]) continue;
        if (end + 1 < text.size() || at_end || !needs_lookahead_) return end + 1;
    }
    if (text.size() <= longest_stretch) return at_end ? text.size() : 0;
    return cut_by_rule(text);
}

} // namespace palimpsest::engine
