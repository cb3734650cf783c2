// Feeds one text to several sessions with different policies, which take turns after each chunk. Measures what each
// keeps, how much of that is the same, perplexity, memory and speed. Independent of widgets; runs on the engine
// thread and publishes complete states, at most ten per second.
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
#include "storage/session/reading.h"
#include "storage/session/session_report.h"
#include "ui/base/thinned.h"
#include "ui/engine/memory_left.h"

namespace palimpsest::ui {

inline constexpr int fewest_contenders = 2, most_contenders = 4;

struct Contender {
    std::string spec; // as the user wrote it
    engine::SessionOptions options;
};

struct CompareJob {
    std::string what; // name of the text
    std::vector<engine::TokenId> tokens;
    int32_t chunk = engine::default_chunk;
    std::vector<Contender> contenders; // REQUIRES: options.chunk == chunk
    storage::Coverage coverage{};      // of the text, without framing; tokens_read is not used
};

// Values of one contender after a chunk.
struct CompareStep {
    double perplexity = 0;         // of all tokens so far
    std::optional<double> overlap; // of its kept tokens with the first contender's; none if one has read more
    double tokens_per_second = 0;  // so far; the time includes computing losses
    uint64_t cache_bytes = 0;
};

struct CompareResult {
    std::string spec;
    engine::SessionOptions options; // with defaults resolved
    storage::PolicyReport policy;
    uint64_t tokens_read = 0;
    bool complete = true; // false: the policy keeps all tokens, and the text exceeds the capacity
    engine::Telemetry telemetry;
    engine::Loss loss;
    double tokens_per_second = 0; // the time includes computing losses
    std::shared_ptr<const engine::RetentionMap> kept;
    engine::Reach reach; // of `kept`
    DownsampledSeries<CompareStep> steps{1024};
};

struct CompareState {
    enum class Phase { Running, Finished, Stopped };
    Phase phase = Phase::Running;
    std::string what;
    storage::ModelReport model;
    storage::Coverage coverage;
    uint64_t tokens_total = 0; // with framing
    double share = 0;          // tokens read by all contenders, as a share of what they will read
    std::optional<double> seconds_left;
    std::vector<CompareResult> results;
    std::vector<std::vector<double>> overlaps; // pairwise overlap of the kept tokens; only in the last state
};

using CompareSink = std::function<void(std::shared_ptr<const CompareState>)>;

// Returns the bytes that all sessions need in addition to the loaded model. Throws the errors of Session for
// options that do not fit.
uint64_t memory_of(const engine::Model& model, const std::vector<Contender>& contenders);
// Throws Error (Resources, PAL-MEM-02) if `needed` exceeds `left`.
void require_memory(uint64_t needed, uint64_t left, size_t contenders);

// Reads the whole text and returns the last state, which `sink` receives too. `stop` ends it within a chunk. Throws
// Error: Usage (PAL-OPTION-03) for too few or too many contenders or an empty text, Resources before reading if
// memory does not suffice, and the errors of Session::feed.
std::shared_ptr<const CompareState> compare(const std::shared_ptr<const engine::Model>& model,
                                            const CompareJob& job, const std::stop_token& stop,
                                            const CompareSink& sink = {});

} // namespace palimpsest::ui
