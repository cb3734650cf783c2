// An exported session that is given to a command in the place of a document.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/palimpsest/common_options.h"
#include "app/palimpsest/console.h"
#include "storage/export_file.h"
#include "storage/interrupted.h"
#include "storage/session/exported_session.h"
#include "storage/session/store.h"

namespace palimpsest::app {

// Whether one of the files is an exported session. Throws Error (Usage, PAL-OPTION-01) if others are given beside
// it.
bool is_given_export(const std::vector<std::string>& files);

// As open_export, with the model of --model if it was given. `session`: the name of --session; empty: none.
storage::OpenedExport open_given_export(storage::Store& store, storage::ExportFile& file,
                                        const std::string& session, const CommonOptions& options);
// As this, for commands that need its cache. Throws Error (Failed) as is_only_text if only its text can be used;
// the session is imported then, which a note says.
storage::OpenedExport open_given_cache(storage::Store& store, storage::ExportFile& file, const std::string& session,
                                       const CommonOptions& options, Console& console);
// The session that was imported from the file before, if its model is on this machine. Opens the database for
// reading only, and so does not wait for a process that writes to it. `database`: as for open_store. nullopt: there
// is no such session, or the database cannot be read.
std::optional<storage::OpenedExport> export_opened_before(const std::string& database, storage::ExportFile& file,
                                                          const std::string& session, const CommonOptions& options);
// Notes that the file was imported, or that the session has gone on since it was.
void tell_import(const std::string& file, const storage::OpenedExport& opened, const std::string& session,
                 bool events, Console& console);

// Calls `open`, which opens the session that was imported, and tells the import. If `open` throws, an import that
// is new is removed again, but not if it was interrupted: what was fed is saved. `writer` returns the store to
// remove it from.
template<class Open, class Writer>
void open_imported(const std::string& file, const storage::OpenedExport& opened, bool events, Console& console,
                   const Open& open, const Writer& writer)
{
    try {
        open();
    } catch (const storage::Interrupted&) {
        tell_import(file, opened, opened.session.name, events, console);
        throw;
    } catch (...) {
        if (opened.is_new) {
            try {
                writer()->conversations.take_back(opened.session);
            } catch (...) { // what `open` threw says more
                tell_import(file, opened, opened.session.name, events, console);
            }
        }
        throw;
    }
    tell_import(file, opened, opened.session.name, events, console);
}

} // namespace palimpsest::app
