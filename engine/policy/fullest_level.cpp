#include "engine/policy/fullest_level.h"

#include <limits>

namespace palimpsest::engine {
namespace {

constexpr size_t most_runs = 40; // a level takes twice the stream of the one below, and a stream has 2^32 tokens

} // namespace

FullestLevel::FullestLevel(int32_t layers, int32_t slots)
    : slots_(static_cast<uint32_t>(slots)),
      layers_(static_cast<size_t>(layers), {Run{.level = 0, .count = static_cast<uint32_t>(slots), .first = 0}})
{
}

// Ties go to the lower level, which stands later.
std::vector<FullestLevel::Run>::iterator FullestLevel::fullest(std::vector<Run>& runs)
{
    auto best = runs.begin();
    for (auto run = runs.begin(); run != runs.end(); ++run) {
        if (run->count >= best->count) best = run;
    }
    return best;
}

void FullestLevel::walk(int32_t layer, const Overfull& list, std::vector<uint32_t>& tiles)
{
    std::vector<Run>& runs = layers_[static_cast<size_t>(layer)];
    runs.reserve(most_runs);
    places_.reset(list.size);
    uint32_t entering = static_cast<uint32_t>(list.ends.sinks);
    for (Run& run : runs) {
        run.first = entering;
        entering += run.count;
    }

    for (uint32_t size = list.size; size > list.budget; --size, ++entering) {
        if (runs.back().level == 0) {
            ++runs.back().count;
        } else {
            runs.push_back({.level = 0, .count = 1, .first = entering});
        }
        auto run = fullest(runs);
        // One entry per level everywhere: nobody has a peer, so the two oldest meet.
        if (run->count == 1) {
            run = runs.begin();
            run->count = 2;
            runs.erase(run + 1);
        }
        const uint32_t left = run->first;
        const uint32_t right = places_.next(left);
        tiles.insert(tiles.end(), {left, right});
        places_.join(left, places_.next(right));

        run->first = places_.next(left);
        run->count -= 2;
        const uint32_t risen = run->level + 1;
        if (run->count == 0) run = runs.erase(run);
        if (run != runs.begin() && (run - 1)->level == risen) {
            ++(run - 1)->count;
        } else {
            runs.insert(run, {.level = risen, .count = 1, .first = left});
        }
    }
}

void FullestLevel::save(StateWriter& out) const
{
    for (const auto& runs : layers_) {
        out.word(static_cast<uint32_t>(runs.size()));
        for (const Run& run : runs) {
            out.word(run.level);
            out.word(run.count);
        }
    }
}

void FullestLevel::load(StateReader& in)
{
    for (auto& runs : layers_) {
        runs.clear();
        const uint32_t size = in.word_within("number of levels", 1, slots_);
        uint32_t above = std::numeric_limits<uint32_t>::max(); // levels are below the run before, and cannot wrap
        uint32_t left = slots_;
        for (uint32_t i = 0; i < size; ++i) {
            if (above == 0 || left == 0) StateReader::refuse("has levels that increase or exceed the budget");
            above = in.word_within("level", 0, above - 1);
            const uint32_t count = in.word_within("entries of a level", 1, left);
            left -= count;
            runs.push_back({.level = above, .count = count, .first = 0});
        }
        if (left != 0) {
            StateReader::refuse("has levels for " + std::to_string(slots_ - left) + " entries where " +
                                std::to_string(slots_) + " are kept");
        }
    }
}

std::vector<uint32_t> FullestLevel::levels(int32_t layer) const
{
    std::vector<uint32_t> out;
    for (const Run& run : layers_[static_cast<size_t>(layer)])
        out.insert(out.end(), run.count, run.level);
    return out;
}

} // namespace palimpsest::engine
