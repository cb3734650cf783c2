#include "ui/desktop/open_window.h"

#include <QApplication>

#include "storage/session/store.h"
#include "ui/base/icon.h"
#include "ui/desktop/areas.h"
#include "ui/desktop/damage_question.h"
#include "ui/desktop/quit_signals.h"
#include "ui/desktop/workbench.h"
#include "ui/window/appearance.h"
#include "ui/window/start.h"

namespace palimpsest::ui {
namespace {

// Asks what becomes of a damaged database; returns false to quit. Files of later starts are added to `request`.
bool has_usable_database(const std::string& database, SingleInstance& instance, QuitSignals& signals,
                         StartRequest& request)
{
    const QObject context;
    bool quits = false;
    QObject::connect(&instance, &SingleInstance::requested, &context,
                     [&](const StartRequest& later) { request.files += later.files; });
    QObject::connect(&signals, &QuitSignals::quit_wanted, &context, [&] { quits = true; });
    const QString damage = damage_of(database);
    if (quits || damage.isEmpty()) return !quits;
    DamageQuestion question(database, damage);
    QObject::connect(&signals, &QuitSignals::quit_wanted, &question, &DamageQuestion::leave);
    QObject::connect(&instance, &SingleInstance::requested, &question, [&] {
        question.raise();
        question.activateWindow();
    });
    return question.exec() == QDialog::Accepted;
}

} // namespace

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
    StartRequest request = start_request(files);
    SingleInstance instance(places.database);
    if (instance.begin(request) == SingleInstance::Role::HandedOver) return 0;

    translate(application, preferences);
    apply_appearance(preferences);
    const std::string database = storage::database_file(places.database.toStdString());
    QuitSignals signals;
    if (!has_usable_database(database, instance, signals, request)) return signals.exit_code();
    EngineThread engine(places.database);
    Areas areas;
    MainWindow window(areas.makers(), places, store);
    Workbench bench(window, engine, store);
    areas.join(bench);
    QObject::connect(&instance, &SingleInstance::requested, &bench, &Workbench::take);
    QObject::connect(&window, &MainWindow::first_painted, &bench,
                     [&] { bench.begin(request); }); // load the model after the window is visible
    QObject::connect(&signals, &QuitSignals::quit_wanted, &window, [&] {
        window.leave();
        QApplication::quit(); // closes dialogs too
    });
    window.show();
    const int code = QApplication::exec();
    return signals.exit_code() != 0 ? signals.exit_code() : code;
}

} // namespace palimpsest::ui
