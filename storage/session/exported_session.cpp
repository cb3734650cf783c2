#include "storage/session/exported_session.h"

#include <nlohmann/json.hpp>

#include "kernels/base/byte_quantity.h"
#include "kernels/base/error.h"
#include "kernels/base/printable.h"
#include "storage/models/same_model.h"
#include "storage/session/session_settings.h"
#include "storage/session/session_stream.h"
#include "storage/session/stored_session.h"

namespace palimpsest::storage {
namespace {

namespace fs = std::filesystem;

// The longest beginning of whole characters with at most `bytes` bytes.
std::string beginning_of(const std::string& text, size_t bytes)
{
    if (text.size() <= bytes) return text;
    while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xC0) == 0x80)
        --bytes;
    return text.substr(0, bytes);
}

std::string free_name(Conversations& conversations, const std::string& wanted)
{
    std::string name = beginning_of(wanted, max_name_bytes);
    for (int number = 2; conversations.find(name); ++number) {
        const std::string ending = " (" + std::to_string(number) + ")";
        name = beginning_of(wanted, max_name_bytes - ending.size()) + ending;
    }
    return name;
}

// The model that another session here was begun with may be in no folder of models.
std::optional<fs::path> model_of_others(Conversations& conversations, const std::string& fingerprint)
{
    for (const SessionInfo& other : conversations.list()) {
        const auto options = nlohmann::ordered_json::parse(other.options, nullptr, false);
        if (other.model != fingerprint || !options.is_object()) continue;
        const fs::path place = options.value("model", "");
        if (place.is_absolute() && fingerprint_of(place) == fingerprint) return place;
    }
    return std::nullopt;
}

std::optional<fs::path> model_for(Store& store, const SessionInfo& session, const fs::path& was_at,
                                  const fs::path& given)
{
    if (!given.empty())
        return fingerprint_of(given) == session.model ? std::optional(fs::absolute(given)) : std::nullopt;
    const auto place = model_with(session.model, was_at, model_folders());
    return place ? place : model_of_others(store.conversations, session.model);
}

// Whether the session holds another text than the file that it was imported from.
bool has_gone_on(Store& store, const SessionInfo& session, ExportFile& exported)
{
    return ExportFile::guarded([&] {
        const SessionStream there(Conversations(exported.database()).stream(exported.session().id));
        return SessionStream(store.conversations.stream(session.id)).tokens() != there.tokens();
    });
}

} // namespace

bool needs_rounding(Store& store, const SessionInfo& session, SnapshotForm form)
{
    const auto states = store.snapshots.of(session.id);
    return !states.empty() && states.front().form < form;
}

WrittenExport export_rounded(Store& store, const SessionInfo& session, const fs::path& file, SnapshotForm form,
                             const StoredOptions& options, Listener& listener)
{
    require_absent(file);
    engine::SessionState state;
    { // the session holds a view of the database open, and the export takes one of its own
        StoredOptions reading = options;
        reading.read_only = true;
        StoredSession stored(store, session.name, reading, listener);
        const kernels::DType type = *stored.session().options().kv_type;
        const int32_t head_dim = stored.model().config().head_dim;
        const auto exact = why_exact(form, type, head_dim);
        listener.note(
            exact ? *exact
                  : Text("its cache takes {0} here, and is rounded to {1} in the file: answers may differ",
                         format_bytes(store.snapshots.of(session.id).front().bytes), std::string(name_of(form))));
        state = stored.session().state(rounding_of(form, type, head_dim));
    }
    return export_session(store.database, session.id, file, ExportedState{state, form});
}

ExportFile export_for(const fs::path& database, const fs::path& file, const std::stop_token& stop)
{
    std::error_code unknown;
    if (fs::equivalent(file, database, unknown))
        throw Error(ErrorKind::Failed, ErrorCode::NotADatabase, Text::escaped(file.string()),
                    Text("it is the database itself, not an exported session"), Text(Step::ExportSession));
    return ExportFile(file, stop);
}

// One of this name without its cache is used all the same: the name is taken.
std::optional<OpenedExport> find_opened_export(Store& store, ExportFile& file, const std::string& name,
                                               const fs::path& model)
{
    const auto found = imported_session(store.database, file.identity(), name);
    if (!found) return std::nullopt;
    const bool has_lost_its_cache = store.snapshots.of(found->id).empty() &&
                                    ExportContents::of(file.database(), file.session()).cache_bytes > 0;
    if (has_lost_its_cache && name.empty()) return std::nullopt;
    const auto settings = readable_settings(*found);
    return OpenedExport{.session = *found,
                        .has_gone_on = has_gone_on(store, *found, file),
                        .has_settings = settings.has_value(),
                        .model = settings ? model_for(store, *found, settings->model, model) : std::nullopt};
}

OpenedExport open_export(Store& store, const fs::path& file, const std::string& name, const fs::path& model,
                         const std::stop_token& stop)
{
    ExportFile exported = export_for(store.database.file(), file, stop);
    return open_export(store, exported, name, model);
}

OpenedExport open_export(Store& store, ExportFile& file, const std::string& name, const fs::path& model)
{
    if (const auto found = find_opened_export(store, file, name, model)) return *found;
    const auto settings = readable_settings(file.session());
    // A folder in the file is of another machine, or of someone who wants this one to look there.
    const auto place =
        settings ? model_for(store, file.session(), fs::path(settings->model).filename(), model) : std::nullopt;
    const std::string imported =
        import_session(store.database, file,
                       {.name = name.empty() ? free_name(store.conversations, file.session().name) : name,
                        .model = place ? place->string() : "",
                        .identity = file.identity()});
    return {.session = store.conversations.get(imported),
            .is_new = true,
            .has_settings = settings.has_value(),
            .model = place};
}

Text settings_are_unreadable()
{
    return Text("its settings cannot be read");
}

Error is_only_text(const OpenedExport& opened, const Text& remedy)
{
    const Text subject("session '{0}'", printable(opened.session.name));
    if (!opened.has_settings)
        return {ErrorKind::Failed, ErrorCode::DamagedDatabase, subject,
                Text("{0}; its text can be shown and searched", settings_are_unreadable()), remedy};
    return {
        ErrorKind::Failed, ErrorCode::IncompatibleSnapshot, subject,
        Text("its cache was made with the model {0}, which is not used here; its text can be shown and searched",
             printable(opened.session.model_name)),
        remedy};
}

} // namespace palimpsest::storage
