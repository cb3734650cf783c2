#include "app/palimpsest/given_export.h"

#include <algorithm>

#include "app/palimpsest/console_listener.h"
#include "app/palimpsest/output.h"
#include "kernels/base/error.h"
#include "kernels/base/printable.h"
#include "storage/session/model_choice.h"

namespace palimpsest::app {

bool is_given_export(const std::vector<std::string>& files)
{
    const auto found =
        std::ranges::find_if(files, [](const std::string& file) { return storage::is_export(file); });
    if (found == files.end()) return false;
    if (files.size() > 1)
        throw Error(ErrorKind::Usage, ErrorCode::InvalidArguments, Text::escaped(*found),
                    Text("it is an exported session, and other files are given beside it"), Text("give it alone"));
    return true;
}

namespace {

std::filesystem::path model_of(const CommonOptions& options)
{
    return options.given(Setting::Model) ? storage::find_model(options.model) : std::filesystem::path();
}

} // namespace

storage::OpenedExport open_given_export(storage::Store& store, storage::ExportFile& file,
                                        const std::string& session, const CommonOptions& options)
{
    return storage::open_export(store, file, session, model_of(options));
}

std::optional<storage::OpenedExport> export_opened_before(const std::string& database, storage::ExportFile& file,
                                                          const std::string& session, const CommonOptions& options)
try {
    const auto store = storage::open_store(database, storage::Database::Access::Read);
    auto found = storage::find_opened_export(*store, file, session, model_of(options));
    return found && found->model ? std::move(found) : std::nullopt;
} catch (const Error&) {
    return std::nullopt; // opening the database to write it will report the error
}

void tell_import(const std::string& file, const storage::OpenedExport& opened, const std::string& session,
                 bool events, Console& console)
{
    if (opened.is_new)
        write_note(console, events, Text("{0} is imported as the session '{1}'", visible(file), visible(session)));
    else if (opened.has_gone_on)
        write_note(console, events,
                   Text("the session '{0}' has gone on since it was imported; to have what {1} holds: palimpsest "
                        "sessions import {1} --name OTHER",
                        visible(session), visible(file)));
}

storage::OpenedExport open_given_cache(storage::Store& store, storage::ExportFile& file, const std::string& session,
                                       const CommonOptions& options, Console& console)
{
    auto opened = open_given_export(store, file, session, options);
    if (!opened.model) {
        if (opened.is_new) tell_import(file.file().string(), opened, opened.session.name, options.events, console);
        const std::string name = printable(file.file().string());
        throw storage::is_only_text(
            opened,
            opened.has_settings
                ? Text("to ask about it, read it with another model: palimpsest read '{0}' --session OTHER", name)
                : Text("to ask about it, read it anew: palimpsest read '{0}' --session OTHER", name));
    }
    return opened;
}

} // namespace palimpsest::app
