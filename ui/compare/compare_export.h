// Exports a comparison as one JSON document: the one that `compare --json` prints, plus the name and length of the
// text, the state and the curves.
#pragma once

#include <nlohmann/json.hpp>

#include "ui/base/file_writer.h"
#include "ui/compare/compare_run.h"

namespace palimpsest::ui {

nlohmann::ordered_json comparison_json(const CompareState& state);

// The returned function may be called on any thread.
FileContent comparison_file(std::shared_ptr<const CompareState> state);

} // namespace palimpsest::ui
