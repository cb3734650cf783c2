// One text under several policies at once, chunk by chunk in turn, each in a session of its own: what they keep,
// how alike that is, what it costs in perplexity, and how fast it goes. A computation without widgets, for the
// thread that computes; what it tells are finished values, at most ten a second.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/cache/retention_map.h"
#include "engine/eval/loss_meter.h"
#include "engine/session/session.h"
#include "ui/base/thinned.h"
#include "ui/engine/memory_left.h"

namespace palimpsest::ui {

inline constexpr int fewest_contenders = 2, most_contenders = 4;

struct Contender {
    std::string spec; // as the reader wrote it
    engine::SessionOptions options;
};

struct CompareWish {
    std::string what; // the name of the text
    std::vector<engine::TokenId> tokens;
    int32_t chunk = 512;
    std::vector<Contender> contenders; // whose own chunk is this one
};

// After a chunk that all of them have read.
struct CompareStep {
    double perplexity = 0;         // of all tokens so far
    std::optional<double> overlap; // with the first contender's kept set; none once one of the two reads no further
    double tokens_per_second = 0;  // so far, the losses included
    uint64_t cache_bytes = 0;
};

struct CompareResult {
    std::string spec;
    engine::SessionOptions options; // as resolved
    int32_t budget = 0;             // in tokens; a capacity where nothing is evicted
    uint64_t tokens_read = 0;
    bool complete = true; // false: it keeps everything, and its capacity is less than the text
    engine::Telemetry telemetry;
    engine::Loss loss;
    double tokens_per_second = 0; // the losses included
    std::shared_ptr<const engine::RetentionMap> kept;
    engine::Reach reach; // of it
    Thinned<CompareStep> steps{1024};
};

struct CompareState {
    enum class Phase { Running, Finished, Stopped };
    Phase phase = Phase::Running;
    std::string what, model_name, model_fingerprint;
    uint64_t tokens_total = 0;
    double share = 0; // of the tokens that all of them will read
    std::optional<double> seconds_left;
    std::vector<CompareResult> results;
    std::vector<std::vector<double>> overlaps; // of each with each, as they are now
};

using CompareSink = std::function<void(std::shared_ptr<const CompareState>)>;

// Bytes of the sessions, all of them at a time, beside the model that is loaded. Throws Error as Session does for
// options that do not fit.
uint64_t memory_of(const engine::Model& model, const std::vector<Contender>& contenders);
// Throws Error (Resources, PAL-MEM-02).
void require_memory(uint64_t needed, uint64_t left, size_t contenders);

// Reads all of it, and returns the last state, which `sink` got too. Stops within a chunk. Throws Error: Usage
// (PAL-OPTION-03) for too few or too many contenders or an empty text, Resources before anything is read if memory
// does not suffice, and as Session::feed does.
std::shared_ptr<const CompareState> compare(const std::shared_ptr<const engine::Model>& model,
                                            const CompareWish& wish, std::stop_token stop,
                                            const CompareSink& sink = {});

} // namespace palimpsest::ui
