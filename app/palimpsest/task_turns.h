// The turns in which `eval tasks` asks and of which `eval ruler` counts the tokens.
#pragma once

#include "engine/model/model.h"
#include "engine/text/chat_template.h"

namespace palimpsest::app {

// The same ones every day, so that a measurement can be repeated and gone on with. The model must outlive them.
// Throws Error if the model has no tokenizer.
engine::ChatTemplate task_turns(const engine::Model& model, bool is_plain);

} // namespace palimpsest::app
