// The names of new sessions.
#pragma once

#include <QString>

#include "ui/engine/engine_thread.h"
#include "ui/engine/user_database.h"

namespace palimpsest::ui {

// Returns the requested name; without one, the name of the file without its ending; without a file, the date. The
// name is cut to the length that can be stored. For a session that is saved, no other session has it; for an
// unsaved one, the database is not even opened.
QString name_of_new_session(const NewSession& request, const QString& file, UserDatabase& database);

// Returns `wanted`, cut to the length that can be stored; with a number if the database has a session of that name.
QString free_session_name(const QString& wanted, UserDatabase& database);

} // namespace palimpsest::ui
