// The model of a command, and what there is to say about the choice.
#pragma once

#include <memory>

#include "app/palimpsest/common_options.h"
#include "app/palimpsest/console.h"
#include "engine/model/model.h"

namespace palimpsest::app {

// As storage::load_model, with notes on standard error where the tiny built-in model was taken for want of another
// one, and where memory is short.
std::shared_ptr<const engine::Model> load_chosen_model(const CommonOptions& options, Console& console,
                                                       int sessions = 1);

} // namespace palimpsest::app
