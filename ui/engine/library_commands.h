// Commands for the sessions in the user's database. They are short: each may run in the middle of another command,
// unless it changes the open session.
//
// Used by the engine thread only.
#pragma once

#include <QString>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "ui/engine/command_loop.h"
#include "ui/engine/engine_thread.h"
#include "ui/engine/open_session.h"
#include "ui/engine/user_database.h"

namespace palimpsest::ui {

class LibraryCommands {
public:
    // `owner` emits library_changed and noted. `publish_facts`: called after a change of the open session.
    LibraryCommands(EngineThread& owner, const CommandLoop& loop, UserDatabase& database, OpenSession& open,
                    std::function<void()> publish_facts);

    // As a transcript if the ending of the file names one of its formats.
    void export_session(const QString& name, const QString& file);
    QString import_session(const QString& file); // as open_export; returns its name
    void rename_session(const QString& name, const QString& to);
    void fork_session(const QString& name, const QString& to);
    void remove_session(const QString& name);
    void keep(const std::vector<int64_t>& documents);
    void stop_keeping(const std::vector<int64_t>& documents);

private:
    void save_if_open(const QString& name);
    void tell_backup_error(const std::optional<Error>& error);

    EngineThread& owner_;
    const CommandLoop& loop_;
    UserDatabase& database_;
    OpenSession& open_;
    std::function<void()> publish_facts_;
};

} // namespace palimpsest::ui
