// An exported session on this machine: written with a smaller cache, or opened, which imports it once.
#pragma once

#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>

#include "storage/conversations.h"
#include "storage/export_file.h"
#include "storage/session/listener.h"
#include "storage/session/session_context.h"
#include "storage/session/store.h"
#include "storage/snapshot_form.h"
#include "storage/transfer.h"

namespace palimpsest::storage {

// Whether an export in this form needs the session's model: its newest checkpoint is stored in a larger one.
bool needs_rounding(Store& store, const SessionInfo& session, SnapshotForm form);

// As export_session, with one checkpoint in this form. Loads the model, and computes what the stream has beyond the
// newest checkpoint; what is stored stays as it is. Tells the listener that it is rounded, or why not. Throws Error
// as StoredSession does when it is opened, too. REQUIRES: needs_rounding.
WrittenExport export_rounded(Store& store, const SessionInfo& session, const std::filesystem::path& file,
                             SnapshotForm form, const StoredOptions& options, Listener& listener);

struct OpenedExport {
    SessionInfo session;      // as it is stored here
    bool is_new = false;      // false: it was imported from the same file before
    bool has_gone_on = false; // since then: its text is longer or shorter than the file's
    bool has_settings = true; // false: they cannot be read
    // nullopt: its model is not here, or its settings cannot be read; only its text can be used.
    std::optional<std::filesystem::path> model;
};

// The exported file, to be imported into `database`. Throws as ExportFile, and Error (Failed, PAL-DB-02) if it is
// the database itself.
ExportFile export_for(const std::filesystem::path& database, const std::filesystem::path& file,
                      const std::stop_token& stop);

// The session that was imported from the file before, if it is as it should be used: it has its cache, or the file
// has none. `name`: only the one of this name; empty: any. `model`: as for open_export. Changes nothing. Throws as
// the file does.
std::optional<OpenedExport> find_opened_export(Store& store, ExportFile& file, const std::string& name = {},
                                               const std::filesystem::path& model = {});

// Imports an exported file, or finds the session that was imported from it. One that has lost its cache since stays
// as it is, and the file is imported again. `name`: empty: as in the file, with a
// number if that name is taken. `model`: the file of the only model to be considered; empty: any on this machine.
// Throws as the file and import_session; then nothing changes.
OpenedExport open_export(Store& store, ExportFile& file, const std::string& name = {},
                         const std::filesystem::path& model = {});
// As this, and throws as export_for.
OpenedExport open_export(Store& store, const std::filesystem::path& file, const std::string& name = {},
                         const std::filesystem::path& model = {}, const std::stop_token& stop = {});

// The Error for one without `model` (Failed): PAL-SNAP-02, or PAL-DB-03 if its settings cannot be read. `remedy`:
// what to do with its text.
Error is_only_text(const OpenedExport& opened, const Text& remedy);
Text settings_are_unreadable();

} // namespace palimpsest::storage
