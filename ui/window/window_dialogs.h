// The main window's dialogs: settings, command palette, keys, about and privacy. They are window-modal and do not
// block the event loop.
#pragma once

#include <QObject>

#include "ui/window/preferences.h"
#include "ui/window/stored_places.h"
#include "ui/window/window_places.h"

namespace palimpsest::ui {

class Actions;
class CommandPalette;
enum class AboutPage;

class WindowDialogs : public QObject {
    Q_OBJECT
public:
    // `window` owns this object; all references must outlive it.
    WindowDialogs(const Actions& actions, const WindowPlaces& places, const PreferenceStore& store,
                  QWidget* window);

    void show_settings(const Preferences& preferences);
    void show_palette();
    void show_keys();
    void show_about(AboutPage page, const Preferences& preferences);

Q_SIGNALS:
    void preferences_chosen(const palimpsest::ui::Preferences& preferences);
    void empty_wanted(); // delete all stored data permanently

private:
    std::vector<StoredPlace> stored(const Preferences& preferences) const;

    const Actions& actions_;
    const WindowPlaces& places_;
    const PreferenceStore& store_;
    QWidget* window_;
    CommandPalette* palette_ = nullptr;
};

} // namespace palimpsest::ui
