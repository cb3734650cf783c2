// A comparison as one JSON document, with the names and meanings of `compare --json`, and the curves beside them.
#pragma once

#include <QString>
#include <nlohmann/json.hpp>

#include "ui/compare/compare_run.h"

namespace palimpsest::ui {

nlohmann::ordered_json comparison_json(const CompareState& state);

// Replaces the file in one go. Throws Error (Resources, PAL-DISK-01) if it cannot be written.
void write_comparison(const CompareState& state, const QString& file);

} // namespace palimpsest::ui
