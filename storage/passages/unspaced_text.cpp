#include "storage/passages/unspaced_text.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "engine/text/unicode/utf8.h"

namespace palimpsest::storage {
namespace {

struct Script {
    char32_t first, last;
};

constexpr Script unspaced_scripts[] = {
    {0x0E00, 0x0EFF}, {0x1000, 0x109F}, {0x1780, 0x17FF}, // Thai, Lao, Burmese, Khmer
    {0x2E80, 0x2FDF}, {0x3005, 0x3007}, {0x3041, 0x30FF}, // radicals, kana
    {0x31F0, 0x31FF}, {0x3400, 0x4DBF}, {0x4E00, 0x9FFF}, // Chinese characters
    {0xF900, 0xFAFF}, {0xFF66, 0xFF9D}, {0x20000, 0x3FFFF}};

uint64_t key_of(const LetterPair& pair)
{
    return uint64_t{pair.first} << 32 | pair.second;
}

class PairCollector {
public:
    explicit PairCollector(size_t max_pairs) : max_pairs_(max_pairs) {}

    void add(char32_t code)
    {
        if (!is_unspaced(code)) return end();
        if (before_ != 0) keep({before_, code});
        stands_alone_ = before_ == 0;
        before_ = code;
    }
    void end()
    {
        if (stands_alone_) keep({before_, 0});
        stands_alone_ = false;
        before_ = 0;
    }
    std::vector<LetterPair> take() { return std::move(pairs_); }

private:
    void keep(const LetterPair& pair)
    {
        if (pairs_.size() < max_pairs_ && std::find(pairs_.begin(), pairs_.end(), pair) == pairs_.end())
            pairs_.push_back(pair);
    }

    size_t max_pairs_;
    std::vector<LetterPair> pairs_;
    char32_t before_ = 0;
    bool stands_alone_ = false; // the letter before
};

} // namespace

bool is_unspaced(char32_t code)
{
    return std::any_of(std::begin(unspaced_scripts), std::end(unspaced_scripts),
                       [&](const Script& script) { return code >= script.first && code <= script.last; });
}

std::vector<LetterPair> letter_pairs(std::string_view text, size_t max_pairs)
{
    PairCollector pairs(max_pairs);
    engine::Utf8Decoder decoder;
    for (const char byte : text)
        decoder.push(static_cast<unsigned char>(byte), [&](char32_t code, size_t, bool) { pairs.add(code); });
    pairs.end();
    return pairs.take();
}

PairFinder::PairFinder(std::span<const LetterPair> pairs)
{
    for (size_t i = 0; i < pairs.size(); ++i)
        indices_[key_of(pairs[i])] = i;
}

std::vector<size_t> PairFinder::find_in(std::string_view text) const
{
    std::set<size_t> found;
    const auto look_for = [&](const LetterPair& pair) {
        if (const auto at = indices_.find(key_of(pair)); at != indices_.end()) found.insert(at->second);
    };
    char32_t before = 0;
    engine::Utf8Decoder decoder;
    for (const char byte : text)
        decoder.push(static_cast<unsigned char>(byte), [&](char32_t code, size_t, bool) {
            const bool counts = is_unspaced(code);
            if (counts) look_for({code, 0});
            if (counts && before != 0) look_for({before, code});
            before = counts ? code : 0;
        });
    return {found.begin(), found.end()};
}

} // namespace palimpsest::storage
