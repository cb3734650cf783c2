#include "app/palimpsest/task_turns.h"

#include "storage/session/reading.h"

namespace palimpsest::app {

engine::ChatTemplate task_turns(const engine::Model& model, bool is_plain)
{
    constexpr std::chrono::sys_days date = std::chrono::year(2026) / 1 / 1; // for templates that print it
    return {model.files().vocabulary, storage::require_tokenizer(model), {.date = date, .plain = is_plain}};
}

} // namespace palimpsest::app
