// The program with its window, as the command opens it.
#pragma once

#include <QString>
#include <QStringList>

namespace palimpsest::ui {

// Returns the exit code: 128 and the signal's number, if one ended it. Needs a display.
int open_window(int& argc, char** argv, const QString& version, const QStringList& files);

} // namespace palimpsest::ui
