#include "app/palimpsest/chosen_model.h"

#include "app/palimpsest/console_listener.h"
#include "storage/session/model_choice.h"

namespace palimpsest::app {

std::shared_ptr<const engine::Model> load_chosen_model(const CommonOptions& options, Console& console, int sessions)
{
    auto model = storage::load_model(options, sessions);
    for (const Text& note : storage::notes_of_default(options, *model))
        write_note(console, options.events, note);
    if (const auto note = storage::note_of_memory(*model, options, sessions))
        write_note(console, options.events, *note);
    return model;
}

} // namespace palimpsest::app
