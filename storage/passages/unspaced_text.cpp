#include "storage/passages/unspaced_text.h"

#include <algorithm>
#include <iterator>
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

class PairCollector {
public:
    explicit PairCollector(size_t most) : most_(most) {}

    void add(char32_t code)
    {
        if (!is_unspaced(code)) return end();
        std::string letter;
        engine::append_utf8(code, letter);
        if (!before_.empty()) keep(before_ + letter);
        stands_alone_ = before_.empty();
        before_ = std::move(letter);
    }
    void end()
    {
        if (stands_alone_) keep(before_);
        stands_alone_ = false;
        before_.clear();
    }
    std::vector<std::string> take() { return std::move(pairs_); }

private:
    void keep(const std::string& pair)
    {
        if (pairs_.size() < most_ && std::find(pairs_.begin(), pairs_.end(), pair) == pairs_.end())
            pairs_.push_back(pair);
    }

    size_t most_;
    std::vector<std::string> pairs_;
    std::string before_;
    bool stands_alone_ = false; // the letter before
};

} // namespace

bool is_unspaced(char32_t code)
{
    return std::any_of(std::begin(unspaced_scripts), std::end(unspaced_scripts),
                       [&](const Script& script) { return code >= script.first && code <= script.last; });
}

std::vector<std::string> letter_pairs(std::string_view text, size_t most)
{
    PairCollector pairs(most);
    engine::Utf8Decoder decoder;
    for (const char byte : text)
        decoder.push(static_cast<unsigned char>(byte), [&](char32_t code, size_t, bool) { pairs.add(code); });
    pairs.end();
    return pairs.take();
}

} // namespace palimpsest::storage
