// Loads the model of a command and prints notes about the choice.
#pragma once

#include <memory>

#include "app/palimpsest/common_options.h"
#include "app/palimpsest/console.h"
#include "engine/model/model.h"

namespace palimpsest::app {

// Like storage::load_model, but prints notes to standard error, about the choice of a default model and about
// scarce memory. `sessions`: number of sessions in memory at the same time.
std::shared_ptr<const engine::Model> load_chosen_model(const CommonOptions& options, Console& console,
                                                       int sessions = 1);

} // namespace palimpsest::app
