// The members that JSON documents about sessions share (docs/formats.md, Shared members), for the command and for
// the window's exports. They are built from values, so that the window can build them on a thread that may not
// touch the session.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/cache/retention_map.h"
#include "engine/session/telemetry.h"
#include "kernels/base/text.h"
#include "storage/session/list_lengths.h"

namespace palimpsest::storage {

// The JSON member "model".
struct ModelReport {
    std::string name, file, fingerprint;
    int32_t layers = 0, kv_heads = 0;

    static ModelReport of(const engine::Model& model);
    nlohmann::ordered_json json() const;
};

// The JSON member "policy".
struct PolicyReport {
    engine::PolicySpec spec{}; // with defaults resolved
    int32_t budget = 0;        // budget_of()
    int32_t chunk = 0;
    engine::PositionMode positions = engine::PositionMode::Contiguous;
    LengthsReport lengths{};
    std::vector<Text> remarks{}; // engine::session_remarks()

    static PolicyReport of(const engine::Session& session);
    nlohmann::ordered_json json(const engine::RetentionMap& map) const; // includes the lengths of the map's lists
};

nlohmann::ordered_json model_json(const engine::Model& model);
nlohmann::ordered_json policy_json(const engine::Session& session);
nlohmann::ordered_json memory_json(const engine::Telemetry& telemetry);
nlohmann::ordered_json reach_json(const engine::RetentionMap& map);

} // namespace palimpsest::storage
