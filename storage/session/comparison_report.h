// The JSON document palimpsest.comparison/1, which `compare --json` and the window's export write.
//
// The members here are those that both write. The command adds "session" to the results of stored sessions. The
// window adds "steps" to every result, and "text", "tokens" and "state" to the document.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "engine/cache/retention_map.h"
#include "engine/eval/loss_meter.h"
#include "engine/session/telemetry.h"
#include "storage/session/protocol.h"
#include "storage/session/reading.h"
#include "storage/session/session_report.h"

namespace palimpsest::storage {

// One element of "results".
struct ContenderReport {
    PolicyReport policy{};
    Protocol protocol = Protocol::Blind;
    bool complete = true;                      // false: not read to the end
    std::optional<engine::Loss> loss{};        // nullopt: not measured, as for a stored session
    std::optional<double> tokens_per_second{}; // nullopt: not measured
    engine::Telemetry telemetry{};
    const engine::RetentionMap* map = nullptr; // REQUIRES: not null; must outlive this object

    nlohmann::ordered_json json() const;
};

struct ComparisonReport {
    ModelReport model{};
    Coverage coverage{}; // of the contender that read the fewest tokens
    std::vector<ContenderReport> contenders{};
    // Returns engine::overlap of two contenders, a < b. Empty: not known yet, and "overlaps" is empty.
    std::function<double(size_t a, size_t b)> overlap{};

    nlohmann::ordered_json json() const;
};

} // namespace palimpsest::storage
