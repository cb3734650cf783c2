// Preparation before the window exists: file locations, translations and the request of this start.
#pragma once

#include "ui/window/preferences.h"
#include "ui/window/single_instance.h"
#include "ui/window/window_places.h"

class QApplication;

namespace palimpsest::ui {

// Returns the locations that the command uses, unless the preferences override them. The caller sets `version`.
WindowPlaces find_places(const Preferences& preferences);

// Installs the program's and Qt's translations, and sets locale and layout direction for the chosen language.
void translate(QApplication& application, const Preferences& preferences);

// Returns the request of this process: absolute paths of `files`, and the desktop's activation token.
StartRequest start_request(const QStringList& files);

} // namespace palimpsest::ui
