// Entry point of the graphical program, called by the command line.
#pragma once

#include <QString>
#include <QStringList>

namespace palimpsest::ui {

// Returns the exit code: 128 + signal number if a signal ended it. Needs a display.
int open_window(int& argc, char** argv, const QString& version, const QStringList& files);

} // namespace palimpsest::ui
