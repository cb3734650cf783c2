#include "engine/policy/pins.h"

#include <algorithm>

namespace palimpsest::engine {

Pins::Pins(std::vector<TokenRange> ranges)
{
    std::sort(ranges.begin(), ranges.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const TokenRange& range : ranges) {
        if (range.first >= range.last) continue;
        if (!ranges_.empty() && range.first <= ranges_.back().last)
            ranges_.back().last = std::max(ranges_.back().last, range.last);
        else
            ranges_.push_back(range);
    }
}

uint64_t Pins::tokens() const
{
    uint64_t tokens = 0;
    for (const TokenRange& range : ranges_)
        tokens += range.last - range.first;
    return tokens;
}

void Pins::unpinned(std::span<const uint32_t> stream, std::vector<uint32_t>& ranks) const
{
    ranks.clear();
    auto entry = stream.begin();
    const auto rank_of = [&](auto at) { return static_cast<uint32_t>(at - stream.begin()); };
    const auto take_until = [&](auto end) {
        for (uint32_t rank = rank_of(entry); rank < rank_of(end); ++rank)
            ranks.push_back(rank);
    };
    for (const TokenRange& range : ranges_) {
        const auto begin = std::lower_bound(entry, stream.end(), range.first);
        take_until(begin);
        entry = std::lower_bound(begin, stream.end(), range.last);
    }
    take_until(stream.end());
}

void Pins::pinned(std::span<const uint32_t> stream, std::vector<uint32_t>& ranks) const
{
    ranks.clear();
    for (const TokenRange& range : ranges_) {
        const auto begin = std::lower_bound(stream.begin(), stream.end(), range.first);
        for (auto entry = begin; entry != stream.end() && *entry < range.last; ++entry)
            ranks.push_back(static_cast<uint32_t>(entry - stream.begin()));
    }
}

} // namespace palimpsest::engine
