// Writers that export the lists of an open session: as CSV, or as JSON like that of `inspect --json`.
#pragma once

#include "engine/session/telemetry.h"
#include "ui/engine/session_facts.h"
#include "ui/map/export.h"

namespace palimpsest::ui {

// `telemetry`: of the frame whose map will be exported. `facts`: null if no session is open; then both writers are
// empty. If the facts have no report, the JSON writer is empty.
MapWriters writers_of(std::shared_ptr<const SessionFacts> facts, const engine::Telemetry& telemetry);

} // namespace palimpsest::ui
