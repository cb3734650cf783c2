// A series of samples over a growing number of tokens, bounded by `capacity`. When the capacity is exceeded, about
// every second sample is dropped, and later samples must be about twice as far apart. The first and the newest
// sample are always kept; kept samples do not change. O(1) amortised per added sample.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace palimpsest::ui {

template<class Sample>
class DownsampledSeries {
public:
    struct Entry {
        uint64_t tokens = 0;
        Sample sample;
    };

    // REQUIRES: capacity >= 4.
    explicit DownsampledSeries(size_t capacity) : capacity_(capacity) {}

    // Replaces a sample with the same `tokens`. If the stream became shorter, drops the samples beyond its new end.
    void add(uint64_t tokens, const Sample& sample)
    {
        while (!entries_.empty() && entries_.back().tokens >= tokens)
            entries_.pop_back();
        if (newest_is_too_near()) entries_.pop_back();
        entries_.push_back({tokens, sample});
        if (entries_.size() > capacity_) thin();
    }
    void clear()
    {
        entries_.clear();
        spacing_ = 0;
    }

    const std::vector<Entry>& entries() const { return entries_; }
    size_t capacity() const { return capacity_; }

private:
    bool newest_is_too_near() const
    {
        const size_t n = entries_.size();
        return n >= 2 && entries_[n - 1].tokens - entries_[n - 2].tokens < spacing_;
    }

    void thin()
    {
        const uint64_t span = entries_.back().tokens - entries_.front().tokens;
        spacing_ = (2 * span + capacity_ - 1) / capacity_;
        std::vector<Entry> rest{entries_.front()};
        for (size_t i = 1; i + 1 < entries_.size(); ++i)
            if (entries_[i].tokens - rest.back().tokens >= spacing_) rest.push_back(entries_[i]);
        rest.push_back(entries_.back());
        entries_ = std::move(rest);
    }

    std::vector<Entry> entries_;
    size_t capacity_;
    uint64_t spacing_ = 0;
};

} // namespace palimpsest::ui
