#include "engine/text/sentences.h"

#include "engine/text/break_scanner.h"
#include "engine/text/unicode/utf8.h"

namespace palimpsest::engine {
namespace {

constexpr std::string_view white_space = " \t\n\r\f\v";

TextRange trimmed(std::string_view text, size_t begin, size_t end)
{
    const size_t last = text.substr(0, end).find_last_not_of(white_space);
    return {begin, last == std::string_view::npos || last < begin ? begin : last + 1};
}

} // namespace

std::vector<TextRange> sentences(std::string_view text)
{
    std::vector<TextRange> all;
    BreakScanner scanner;
    Utf8Decoder decoder;
    size_t begin = text.find_first_not_of(white_space), at = 0;
    if (begin == std::string_view::npos) return all;
    for (const char byte : text)
        decoder.push(static_cast<unsigned char>(byte), [&](char32_t character, size_t bytes, bool) {
            const auto found = scanner.push(character);
            if (found && *found != Break::Word && at > begin) {
                all.push_back(trimmed(text, begin, at));
                begin = at;
            }
            at += bytes;
        });
    all.push_back(trimmed(text, begin, text.size()));
    return all;
}

std::vector<TextRange> sentence_windows(const std::vector<TextRange>& sentences, size_t least)
{
    std::vector<TextRange> windows;
    for (size_t first = 0; first < sentences.size(); ++first) {
        const bool is_near = !windows.empty() && sentences[first].begin < windows.back().begin + least / 4;
        if (is_near && first + 1 < sentences.size()) continue;
        size_t last = first;
        while (last + 1 < sentences.size() && sentences[last].end - sentences[first].begin < least)
            ++last;
        windows.push_back({sentences[first].begin, sentences[last].end});
        if (last + 1 == sentences.size()) break;
    }
    return windows;
}

} // namespace palimpsest::engine
