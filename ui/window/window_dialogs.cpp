#include "ui/window/window_dialogs.h"

#include "ui/window/about_dialog.h"
#include "ui/window/command_palette.h"
#include "ui/window/keyboard_help.h"
#include "ui/window/settings_dialog.h"

namespace palimpsest::ui {
namespace {

void show_dialog(QDialog* dialog)
{
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->open();
}

} // namespace

WindowDialogs::WindowDialogs(const Actions& actions, const WindowPlaces& places, const PreferenceStore& store,
                             QWidget* window)
    : QObject(window), actions_(actions), places_(places), store_(store), window_(window)
{
}

std::vector<StoredPlace> WindowDialogs::stored(const Preferences& preferences) const
{
    return stored_places(places_.database, store_.file(), places_.models_folder_or(preferences.models_folder));
}

void WindowDialogs::show_settings(const Preferences& preferences)
{
    const SettingsFacts facts{.usual_models_folder = places_.models_folder,
                              .usual_database = places_.database,
                              .languages = places_.languages,
                              .places = stored(preferences)};
    auto* dialog = new SettingsDialog(preferences, facts, window_);
    connect(dialog, &SettingsDialog::empty_wanted, this, &WindowDialogs::empty_wanted);
    connect(dialog, &QDialog::accepted, this, [this, dialog] { Q_EMIT preferences_chosen(dialog->preferences()); });
    show_dialog(dialog);
}

void WindowDialogs::show_palette()
{
    if (!palette_) palette_ = new CommandPalette(actions_, window_);
    palette_->begin();
}

void WindowDialogs::show_keys()
{
    show_dialog(new KeyboardHelp(actions_, window_));
}

void WindowDialogs::show_about(AboutPage page, const Preferences& preferences)
{
    show_dialog(new AboutDialog(places_.version, stored(preferences), page, window_));
}

} // namespace palimpsest::ui
