// The turns in which `eval tasks` asks and of which `eval ruler` counts the tokens.
#pragma once

#include "engine/model/model.h"
#include "engine/text/chat_template.h"

namespace palimpsest::app {

// The chat template of benchmark questions. Its date is fixed, so that its text is the same on every day and
// a measurement can be repeated or continued. The model must outlive it. Throws Error if the model has no
// tokenizer.
engine::ChatTemplate task_turns(const engine::Model& model, bool is_plain);

} // namespace palimpsest::app
