#include "ui/desktop/open_window.h"

#include <QApplication>

#include "ui/base/icon.h"
#include "ui/desktop/areas.h"
#include "ui/desktop/quit_signals.h"
#include "ui/desktop/workbench.h"
#include "ui/window/appearance.h"
#include "ui/window/start.h"

namespace palimpsest::ui {

int open_window(int& argc, char** argv, const QString& version, const QStringList& files)
{
    QApplication application(argc, argv);
    QApplication::setApplicationName(QStringLiteral("palimpsest"));
    QApplication::setApplicationDisplayName(QString());
    QApplication::setApplicationVersion(version);
    QGuiApplication::setDesktopFileName(qEnvironmentVariable("FLATPAK_ID", QStringLiteral("palimpsest")));
    QApplication::setWindowIcon(program_icon());

    PreferenceStore store;
    const Preferences preferences = store.load();
    WindowPlaces places = find_places(preferences);
    places.version = version;
    if (const QString given = qEnvironmentVariable("PALIMPSEST_DB"); !given.isEmpty()) places.database = given;
    const StartRequest request = start_request(files);
    SingleInstance instance(places.database);
    if (instance.begin(request) == SingleInstance::Role::HandedOver) return 0;

    translate(application, preferences);
    apply_appearance(preferences);
    EngineThread engine(places.database);
    Areas areas;
    MainWindow window(areas.makers(), places, store);
    Workbench bench(window, engine, store);
    areas.join(bench);
    QObject::connect(&instance, &SingleInstance::requested, &bench, &Workbench::take);
    QObject::connect(&window, &MainWindow::first_painted, &bench,
                     [&] { bench.begin(request); }); // load the model after the window is visible
    QuitSignals signals;
    QObject::connect(&signals, &QuitSignals::quit_wanted, &window, [&] {
        window.leave();
        QApplication::quit(); // closes dialogs too
    });
    window.show();
    const int code = QApplication::exec();
    return signals.exit_code() != 0 ? signals.exit_code() : code;
}

} // namespace palimpsest::ui
