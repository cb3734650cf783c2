// Exports the lists of an open session: CSV, and JSON with the schema of `inspect --json`.
#pragma once

#include <nlohmann/json.hpp>

#include "ui/map/export.h"

namespace palimpsest::ui {

MapWriters writers_of(std::shared_ptr<const SessionFacts> facts); // null: no session is open; returns empty writers

// REQUIRES: resolved options.
nlohmann::ordered_json policy_json(const engine::SessionOptions& options);
nlohmann::ordered_json reach_json(const engine::Reach& reach);

} // namespace palimpsest::ui
