// A window with its own database and settings, and placeholders for its areas.
#pragma once

#include <QLocale>
#include <QPlainTextEdit>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <QTest>
#include <memory>
#include <optional>

#include "storage/conversations.h"
#include "storage/database.h"
#include "storage/document_import.h"
#include "storage/library.h"
#include "storage/models/shipped_model.h"
#include "tests/support/project_folders.h"
#include "tests/ui/support/at_rest.h"
#include "tests/ui/support/patience.h"
#include "ui/window/appearance.h"
#include "ui/window/main_window.h"

namespace palimpsest::ui::test {

// Call in initTestCase(): keeps the tests away from the user's files and sets the number format that they expect.
inline void use_own_places()
{
    QStandardPaths::setTestModeEnabled(true);
    QLocale::setDefault(QLocale(QLocale::English, QLocale::UnitedStates));
}

// Returns a factory of an empty widget, in place of an area that has its own tests.
inline WindowAreas::Make placeholder(const QString& name)
{
    return [name](QWidget* parent) -> QWidget* {
        auto* area = new QPlainTextEdit(name, parent);
        area->setAccessibleName(name);
        return area;
    };
}

inline WindowAreas placeholders()
{
    return {placeholder("Chat"), placeholder("Document"), placeholder("Outline"), placeholder("Compare"),
            placeholder("Map"),  placeholder("Memory"),   placeholder("Policy")};
}

inline Frame reading_frame()
{
    Frame frame;
    frame.activity = Activity::Reading;
    frame.what = "ashford-light.md";
    frame.share = 0.611;
    frame.seconds_left = 41;
    frame.tokens_per_second = 4120;
    frame.tokens_total = 128'000;
    frame.telemetry.tokens_seen = 78'204;
    frame.telemetry.cache_bytes = 96'000'000;
    frame.telemetry.full_cache_bytes = 6'100'000'000;
    return frame;
}

inline std::shared_ptr<SessionFacts> some_facts(const QString& name)
{
    auto facts = std::make_shared<SessionFacts>();
    facts->name = name;
    facts->policy = "treekv:sinks=4";
    facts->tokens_in_input = facts->tokens_read = 48'877;
    facts->turns.emplace_back().text = "Who kept the light?";
    facts->documents.emplace_back().info.title = "Ashford";
    return facts;
}

struct Stage {
    explicit Stage(bool with_sessions = false)
    {
        database = folder.filePath("palimpsest.db");
        if (with_sessions) fill();
        store.emplace(folder.filePath("window.ini"));
        open();
    }

    void open()
    {
        window.reset();
        window = std::make_unique<MainWindow>(
            placeholders(),
            WindowPlaces{.database = database,
                         .shipped_model = QString::fromStdString(storage::shipped_model().string()),
                         .sample = QString::fromStdString(tests::source_file("resources/samples/ashford-light.md")),
                         .models_folder = folder.filePath("models"),
                         .version = "0.1.0",
                         .other_models = {.own = {},
                                          .lm_studio = {folder.filePath("lmstudio").toStdString()},
                                          .ollama = {},
                                          .hugging_face = {}},
                         .find_models = find_models},
            *store);
        window->show();
        QVERIFY(QTest::qWaitForWindowExposed(window.get(), test::patience_ms));
    }

    void fill()
    {
        storage::Database db(database.toStdString(), storage::Database::Access::Write);
        storage::Conversations conversations(db);
        const auto document = [&](const std::string& title, size_t length) {
            storage::Import import(db, title, "/books/" + title, "tokenizer");
            import.add_text(std::string(length, 'x'));
            std::vector<engine::EncodedToken> tokens;
            for (size_t end = 4; end <= length; end += 4)
                tokens.push_back({.id = 1, .end = end});
            import.add_tokens(tokens);
            return import.finish({.title = title});
        };
        const auto session = [&](const std::string& name, std::optional<int64_t> read) {
            const int64_t id = conversations.create(
                {.name = name, .model = "m", .model_name = "palimpsest-small", .options = "{}"});
            if (read)
                conversations.append(
                    id, storage::StreamDocument{.id = *read, .tokens = storage::Library(db).get(*read).tokens});
            return id;
        };
        session("Notes", std::nullopt);
        const int64_t report = document("Report Q3", 60'000);
        session("Report Q3", report);
        const int64_t ashford = document("The Chronicle of Ashford", 512'000);
        session("Who kept the lighthouse", ashford);
        session("Ashford, with a small budget", ashford);
        // The library shows when a session was changed: the fixed time makes pictures the same in every run.
        db.statement("UPDATE sessions SET created_ms = 1700000000000, changed_ms = 1700000000000").exec();
        sessions = static_cast<int>(conversations.list().size());
    }

    // Waits for the sessions in the database, which are read on another thread.
    void wait_for_library() const { EVENTUALLY_EQUAL(window->library().model().all_sessions().size(), sessions); }

    QTemporaryDir folder;
    QString database;
    FindModels find_models; // null: find_models_here(); used from the next open() on
    int sessions = 0;       // number of sessions in the database
    std::optional<PreferenceStore> store;
    std::unique_ptr<MainWindow> window;
};

inline void use_colours(Colours colours)
{
    Preferences preferences;
    preferences.colours = colours;
    apply_appearance(preferences);
}

// Draws the widget; if PALIMPSEST_SCREENSHOTS names a folder, saves the picture there to be looked at.
inline void grab(QWidget& widget, const QString& name)
{
    const QString folder = qEnvironmentVariable("PALIMPSEST_SCREENSHOTS");
    QVERIFY(comes_to_rest(widget));
    const QPixmap picture = widget.grab();
    QVERIFY(!picture.isNull());
    if (folder.isEmpty()) return;
    const QString scale = qEnvironmentVariable("QT_SCALE_FACTOR", "1");
    QVERIFY(picture.save(QStringLiteral("%1/%2-%3.png").arg(folder, name, scale)));
}

} // namespace palimpsest::ui::test
