// A comparison as one JSON document, with the names and meanings of `compare --json`, and the curves beside them.
#pragma once

#include <nlohmann/json.hpp>

#include "ui/base/file_writer.h"
#include "ui/compare/compare_run.h"

namespace palimpsest::ui {

nlohmann::ordered_json comparison_json(const CompareState& state);

// For a file; a value, that can be written on any thread.
FileContent comparison_file(std::shared_ptr<const CompareState> state);

} // namespace palimpsest::ui
