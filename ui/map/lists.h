// Exports the lists of an open session: CSV, and JSON as `inspect --json` prints it.
#pragma once

#include "engine/session/telemetry.h"
#include "ui/engine/session_facts.h"
#include "ui/map/export.h"

namespace palimpsest::ui {

// `telemetry`: of the frame with the map that will be exported. `facts`: null if no session is open; returns empty
// writers. Without a report in them, only CSV can be written.
MapWriters writers_of(std::shared_ptr<const SessionFacts> facts, const engine::Telemetry& telemetry);

} // namespace palimpsest::ui
