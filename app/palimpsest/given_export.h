// An exported session that is given to a command in the place of a document.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/palimpsest/common_options.h"
#include "app/palimpsest/console.h"
#include "storage/session/exported_session.h"
#include "storage/session/store.h"

namespace palimpsest::app {

// Whether one of the files is an exported session. Throws Error (Usage, PAL-OPTION-01) if others are given beside
// it.
bool is_given_export(const std::vector<std::string>& files);

// As open_export, with the model of --model if it was given. `session`: the name of --session; empty: none.
storage::OpenedExport open_given_export(storage::Store& store, const std::string& file, const std::string& session,
                                        const CommonOptions& options);
// As this, for commands that need its cache. Prints a note if it was imported. Returns the session's name. Throws
// Error (Failed, PAL-SNAP-02) if its model is not used; the session is imported then.
std::string session_of_export(storage::Store& store, const std::string& file, const std::string& session,
                              const CommonOptions& options, Console& console);
// Returns the name of the session that was imported from the file before, if its model is on this machine. Opens
// the database for reading only, and so does not wait for a process that writes to it. `database`: as for
// open_store. nullopt: there is no such session, or the database cannot be read.
std::optional<std::string> session_known_from(const std::string& database, const std::string& file,
                                              const std::string& session, const CommonOptions& options);
void tell_import(const std::string& file, const std::string& session, bool events, Console& console);

} // namespace palimpsest::app
