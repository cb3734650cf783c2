// The receipt of a result: model, coverage, reach, memory and policy, as JSON and as text.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "app/palimpsest/console.h"
#include "engine/session/session.h"
#include "storage/session/protocol.h"
#include "storage/session/reading.h"

namespace palimpsest::app {

nlohmann::ordered_json memory_json(const engine::Telemetry& telemetry);
// `lost`: the device that failed before the computation continued on this backend; empty: none.
nlohmann::ordered_json backend_json(const engine::Model& model, const std::string& lost);
nlohmann::ordered_json model_json(const engine::Model& model);
nlohmann::ordered_json policy_json(const engine::Session& session); // includes the current lengths of the lists
nlohmann::ordered_json reach_json(const engine::RetentionMap& map);

// Prints the receipt to standard error as text, or with `events` as one JSON line.
void write_receipt(Console& console, bool events, const engine::Session& session, const storage::Coverage& coverage,
                   storage::Protocol protocol);

} // namespace palimpsest::app
