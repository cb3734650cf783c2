// What every result says about how it came to be: as JSON, and for people.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "app/palimpsest/console.h"
#include "engine/session/session.h"
#include "storage/session/protocol.h"
#include "storage/session/reading.h"

namespace palimpsest::app {

nlohmann::ordered_json memory_json(const engine::Telemetry& telemetry);
// `lost`: the device that failed before it went on on this one, or empty.
nlohmann::ordered_json backend_json(const engine::Model& model, const std::string& lost);
nlohmann::ordered_json model_json(const engine::Model& model);
nlohmann::ordered_json policy_json(const engine::Session& session); // with how long its lists are at present
nlohmann::ordered_json reach_json(const engine::RetentionMap& map);

// The same for people, on standard error: coverage, reach and memory; or one event, which says the protocol too.
void write_receipt(Console& console, bool events, const engine::Session& session, const storage::Coverage& coverage,
                   storage::Protocol protocol);

} // namespace palimpsest::app
