// What a start needs before there is a window: where things are, in which language, and what is to be opened.
#pragma once

#include "ui/window/preferences.h"
#include "ui/window/single_instance.h"
#include "ui/window/window_places.h"

class QApplication;

namespace palimpsest::ui {

// Where the command finds them too, unless the user chose others. `version` is the caller's to fill in.
WindowPlaces find_places(const Preferences& preferences);

// Our words and Qt's own, numbers and the direction of reading, in the language that was chosen.
void translate(QApplication& application, const Preferences& preferences);

// Of this process: files as they were named in its folder, and the desktop's permission to raise a window.
StartRequest start_request(const QStringList& files);

} // namespace palimpsest::ui
