// Export and import of one session as a file: a Palimpsest database with only that session.
#pragma once

#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/session/session_state.h"
#include "kernels/base/text.h"
#include "storage/database.h"
#include "storage/export_file.h"
#include "storage/snapshot_form.h"

namespace palimpsest::storage {

// Throws Error (Failed, PAL-DISK-03) if the file exists. Removes what killed processes left of it (PartFile).
void require_absent(const std::filesystem::path& file);

// A state that takes the place of the session's checkpoints in an exported file.
struct ExportedState {
    const engine::SessionState& state;
    SnapshotForm form = SnapshotForm::Exact; // its rows should be rounded to it
};

// How much of a session is damaged in its exported file, missing from it, or changed.
struct ExportLosses {
    size_t messages = 0; // in the file as they are, and keep it from being imported
    size_t notes = 0;    // left out
    size_t sources = 0;  // of answers, left out
    size_t names = 0;    // titles and names with characters that are not UTF-8, which were replaced

    std::vector<Text> sentences() const; // one for each kind of loss, for the user
};

struct WrittenExport {
    ExportContents holds;
    ExportLosses losses{};
};

// Writes text, messages with their provenance, checkpoints, pins, notes, the fade record and the embeddings of
// passages; of files only their names, not where they are. Of a session without messages, the newest checkpoint is
// enough. Throws Error as require_absent does, and (Failed, PAL-DOC-05, PAL-SNAP-03) if a text or a cache is
// damaged. A failure leaves no file behind.
WrittenExport export_session(Database& database, int64_t session, const std::filesystem::path& file,
                             const std::optional<ExportedState>& state = std::nullopt);

// How an imported session is stored. Empty: as it is in the file.
struct ImportedAs {
    std::string name{};
    std::string model{};    // path of its model; empty: only the name of its file is kept
    std::string identity{}; // of the file, to find the session again; empty: not to be found
};

// Imports the session of an exported file, with those of its documents that are not stored yet. Indexes these, and
// takes their embeddings if they are about the same passages. Returns the session's name. Throws Error (Failed,
// PAL-DOC-05, PAL-DB-03, PAL-SNAP-03) if anything in it does not match its checksum or cannot be, (Usage,
// PAL-SESSION-02) if the name is taken, and Interrupted when the file is stopped; in all cases nothing changes.
std::string import_session(Database& database, ExportFile& file, const ImportedAs& as);
// As this, and throws as ExportFile. `name`: as in ImportedAs.
std::string import_session(Database& database, const std::filesystem::path& file, const std::string& name,
                           const std::stop_token& stop = {});
// The session that was imported from a file of this identity, or the one of this name: the oldest of several that
// have their caches, or of all if none has. nullopt if none is there. It may have gone on since.
std::optional<SessionInfo> imported_session(Database& database, const std::string& identity,
                                            const std::string& name = {});

} // namespace palimpsest::storage
