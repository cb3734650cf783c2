// The receipt of a result: model, coverage, reach, memory and policy, as JSON and as text.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "app/palimpsest/console.h"
#include "engine/session/session.h"
#include "storage/session/protocol.h"
#include "storage/session/reading.h"

namespace palimpsest::app {

// `lost`: the device that failed before the computation continued on this backend; empty: none.
nlohmann::ordered_json backend_json(const engine::Model& model, const std::string& lost);

// Prints the receipt to standard error as text, or with `events` as one JSON line.
void write_receipt(Console& console, bool events, const engine::Session& session, const storage::Coverage& coverage,
                   storage::Protocol protocol);

} // namespace palimpsest::app
