// The program with its window, as the command opens it.
#pragma once

#include <QString>
#include <QStringList>

namespace palimpsest::ui {

// Returns the exit code. Needs a display.
int open_window(int& argc, char** argv, const QString& version, const QStringList& files);

} // namespace palimpsest::ui
