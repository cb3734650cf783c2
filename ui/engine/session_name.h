// The names of new sessions.
#pragma once

#include <QString>

#include "ui/engine/engine_thread.h"
#include "ui/engine/user_database.h"

namespace palimpsest::ui {

// The requested name; if there is none, that of the file without its ending, or the date. Shortened to the longest
// name that can be stored. Free if the session is saved; the database of an unsaved one is not opened.
QString name_of_new_session(const NewSession& request, const QString& file, UserDatabase& database);

// `wanted`, shortened and with a number if the database has a session of that name.
QString free_session_name(const QString& wanted, UserDatabase& database);

} // namespace palimpsest::ui
