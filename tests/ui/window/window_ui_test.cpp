// The window: its actions and keys, its texts and dialogs, and the cost of a start.
#include <QComboBox>
#include <QDir>
#include <QDockWidget>
#include <QDropEvent>
#include <QFileDialog>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QListWidget>
#include <QMenu>
#include <QMimeData>
#include <QPushButton>
#include <QRegularExpression>
#include <QScopeGuard>
#include <QScreen>
#include <QSignalSpy>
#include <QStyle>
#include <QTabWidget>
#include <QTemporaryDir>
#include <QTimer>
#include <QToolButton>
#include <QTreeWidget>
#include <ctime>
#include <future>
#include <new>
#include <sstream>
#include <stop_token>

#include "kernels/base/error.h"
#include "storage/database.h"
#include "storage/models/default_model.h"
#include "storage/session/document.h"
#include "tests/ui/support/looks.h"
#include "tests/ui/support/patience.h"
#include "tests/ui/support/sanitized.h"
#include "tests/ui/window/stage.h"
#include "ui/base/theme.h"
#include "ui/window/about_dialog.h"
#include "ui/window/command_palette.h"
#include "ui/window/file_kind.h"
#include "ui/window/keyboard_help.h"
#include "ui/window/model_bar.h"
#include "ui/window/notifier.h"
#include "ui/window/settings_dialog.h"
#include "ui/window/sleep_inhibitor.h"
#include "ui/window/status_line.h"
#include "ui/window/tour.h"

using namespace palimpsest;
using namespace palimpsest::ui;
using namespace palimpsest::ui::test;

class WindowUiTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() { use_own_places(); }

    void every_action_has_a_text_a_status_tip_and_a_menu()
    {
        Stage stage;
        const Actions& actions = stage.window->actions();
        const auto in_menus = actions.in_menus();
        for (int i = 0; i < static_cast<int>(ActionId::Count); ++i) {
            const QAction* action = actions[static_cast<ActionId>(i)];
            QVERIFY2(action, qPrintable(QString::number(i)));
            QVERIFY(in_menus.contains(action));
            QVERIFY(!actions.place(action).isEmpty());
        }
        for (const QAction* action : in_menus) {
            QVERIFY2(!action->text().isEmpty(), qPrintable(action->objectName()));
            QVERIFY2(!action->statusTip().isEmpty(), qPrintable(action->text()));
        }
        const auto has = [&](ActionId id, const char* key) {
            return actions[id]->shortcuts().contains(QKeySequence(QString::fromLatin1(key)));
        };
        QVERIFY(has(ActionId::OpenFiles, "Ctrl+O") && has(ActionId::NewSession, "Ctrl+N"));
        QVERIFY(has(ActionId::AskQuestion, "Ctrl+L") && has(ActionId::CommandPalette, "Ctrl+K"));
        QVERIFY(has(ActionId::ExportSession, "Ctrl+E") && has(ActionId::Find, "Ctrl+F"));
        QVERIFY(has(ActionId::KeyboardHelp, "F1") && has(ActionId::FullScreen, "F11"));
        QVERIFY(has(ActionId::Stop, "Esc") && has(ActionId::NextArea, "F6"));
        QVERIFY(has(ActionId::LargerText, "Ctrl++") && has(ActionId::SmallerText, "Ctrl+-"));
        QVERIFY(has(ActionId::NormalText, "Ctrl+0") && has(ActionId::ShowCompare, "Alt+4"));
        QVERIFY(has(ActionId::ShowDocument, "Alt+2") && has(ActionId::ShowOutline, "Alt+3"));
    }

    void no_shortcut_or_mnemonic_is_used_twice()
    {
        Stage stage;
        QHash<QKeySequence, QString> seen;
        for (const QAction* action : stage.window->findChildren<QAction*>()) {
            if (action->shortcutContext() == Qt::WidgetShortcut) continue;
            for (const QKeySequence& key : action->shortcuts()) {
                QVERIFY2(!seen.contains(key),
                         qPrintable(key.toString() + ": " + seen[key] + ", " + action->text()));
                seen.insert(key, action->text());
            }
        }
        QVERIFY(seen.size() > 25);
        for (int i = 0; i < static_cast<int>(MenuId::Count); ++i) { // mnemonics are unique in a menu
            QSet<QChar> letters;
            for (const QAction* action : stage.window->actions().menu(static_cast<MenuId>(i))->actions()) {
                const auto at = action->text().indexOf(u'&');
                if (at < 0) continue;
                const QChar letter = action->text()[at + 1].toLower();
                QVERIFY2(!letters.contains(letter), qPrintable(action->text()));
                letters.insert(letter);
            }
        }
    }

    void the_status_line_describes_what_runs()
    {
        QCOMPARE(activity_text(reading_frame()),
                 QString("Reading 61 % · 78,204 / 128,000 tokens · 4,120 tok/s · 41 s left"));
        QCOMPARE(cache_text(reading_frame().telemetry), QString("cache 96.0 MB of 6.1 GB full"));
        QVERIFY(activity_text({}).isEmpty());
        Frame noting;
        noting.activity = Activity::WritingNotes;
        noting.notes = 12;
        noting.notes_wanted = 61;
        noting.share = 12.0 / 61;
        QCOMPARE(activity_text(noting), QString("Writing notes 19 % · 12 of 61"));
        Frame nearly = reading_frame();
        nearly.share = 0.9999;
        QVERIFY(activity_text(nearly).startsWith("Reading 99 %")); // rounded down: 100 % appears only at the end
    }

    void the_stop_action_is_enabled_only_while_something_runs()
    {
        Stage stage;
        QSignalSpy stop(stage.window.get(), &MainWindow::stop_wanted);
        QVERIFY(!stage.window->actions()[ActionId::Stop]->isEnabled());
        stage.window->set_frame(reading_frame());
        QVERIFY(stage.window->actions()[ActionId::Stop]->isEnabled());
        stage.window->actions()[ActionId::Stop]->trigger();
        QCOMPARE(stop.count(), 1);
        auto* line = stage.window->findChild<StatusLine*>();
        QTest::mouseClick(line->findChild<QToolButton*>(), Qt::LeftButton);
        QCOMPARE(stop.count(), 2);
        stage.window->set_frame({});
        QVERIFY(!stage.window->actions()[ActionId::Stop]->isEnabled());
    }

    void the_title_names_the_session_and_marks_changes()
    {
        Stage stage;
        QCOMPARE(stage.window->windowTitle(), QString("Palimpsest"));
        stage.window->set_session(some_facts("Ashford"));
        QCOMPARE(stage.window->windowTitle(), QString("Palimpsest — Ashford[*]"));
        QVERIFY(!stage.window->isWindowModified());
        stage.window->set_frame(reading_frame());
        QVERIFY(stage.window->isWindowModified());
        auto secret = some_facts("Ashford");
        secret->saved = false;
        stage.window->set_session(secret);
        QVERIFY(stage.window->windowTitle().contains("not saved"));
        stage.window->set_session(nullptr);
        QVERIFY(!stage.window->isWindowModified());
    }

    void tabs_and_areas_are_reached_by_keys()
    {
        Stage stage;
        stage.window->activateWindow();
        auto* tabs = stage.window->findChild<QTabWidget*>();
        stage.window->actions()[ActionId::ShowDocument]->trigger();
        QCOMPARE(tabs->currentIndex(), 1);
        QSignalSpy question(stage.window.get(), &MainWindow::question_wanted);
        stage.window->actions()[ActionId::AskQuestion]->trigger();
        QCOMPARE(tabs->currentIndex(), 0);
        QCOMPARE(question.count(), 1);
        QSet<QWidget*> reached;
        const auto area_of = [&](QWidget* widget) -> QWidget* {
            for (; widget; widget = widget->parentWidget())
                if (qobject_cast<QDockWidget*>(widget) || qobject_cast<QTabWidget*>(widget) ||
                    widget->objectName() == "model_bar" || qobject_cast<LibraryView*>(widget))
                    return widget;
            return nullptr;
        };
        for (int i = 0; i < 6; ++i) {
            stage.window->actions()[ActionId::NextArea]->trigger();
            reached.insert(area_of(stage.window->focusWidget()));
        }
        QCOMPARE(reached.size(), 6); // library, tool bar, tabs, map, memory, policy
        QVERIFY(!reached.contains(nullptr));
        QWidget* now = stage.window->focusWidget();
        stage.window->actions()[ActionId::NextArea]->trigger();
        stage.window->actions()[ActionId::PreviousArea]->trigger();
        QCOMPARE(stage.window->focusWidget(), now); // back to where it was
    }

    void dropped_files_are_handled_by_their_kind()
    {
        Stage stage;
        const QDir folder(stage.folder.path());
        const auto write = [&](const QString& name) {
            folder.mkpath(QFileInfo(name).path());
            QFile file(folder.filePath(name));
            QVERIFY(file.open(QIODevice::WriteOnly));
            file.write("x");
        };
        write("book.md");
        storage::Database(folder.filePath("gift").toStdString(), storage::Database::Access::Write);
        write("old.palimpsest");
        write("small.gguf");
        write("models/a.gguf");
        write("hf/config.json");
        folder.mkpath("nothing");
        QCOMPARE(kind_of(folder.filePath("book.md")), FileKind::Document);
        QCOMPARE(kind_of(folder.filePath("gift")), FileKind::Export); // whatever its name
        QCOMPARE(kind_of(folder.filePath("hf")), FileKind::Model);
        QCOMPARE(kind_of(folder.filePath("models")), FileKind::ModelFolder);
        QCOMPARE(kind_of(folder.filePath("nothing")), FileKind::Folder);
        QCOMPARE(kind_of(folder.filePath("missing")), FileKind::Nothing);
        QSignalSpy add(stage.window.get(), &MainWindow::add_to_library_wanted);
        QSignalSpy read(stage.window.get(), &MainWindow::read_wanted);
        QSignalSpy opened(stage.window.get(), &MainWindow::export_open_wanted);
        QSignalSpy model(stage.window.get(), &MainWindow::model_wanted);
        QMimeData dropped;
        dropped.setUrls({QUrl::fromLocalFile(folder.filePath("book.md")),
                         QUrl::fromLocalFile(folder.filePath("old.palimpsest")),
                         QUrl::fromLocalFile(folder.filePath("small.gguf")), QUrl("https://example.org/x.md")});
        QDragEnterEvent enter(QPoint(), Qt::CopyAction, &dropped, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(stage.window.get(), &enter);
        QVERIFY(enter.isAccepted());
        QDropEvent drop(QPointF(), Qt::CopyAction, &dropped, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(stage.window.get(), &drop);
        QCOMPARE(read.count(), 1);
        QCOMPARE(read[0][0].toStringList(), QStringList{folder.filePath("book.md")});
        QCOMPARE(opened.count(), 1);
        QCOMPARE(model.count(), 1);
        QCOMPARE(model[0][0].value<ModelChoiceRequest>().model, folder.filePath("small.gguf"));
        QCOMPARE(stage.store->recent_files(), QStringList{folder.filePath("book.md")});
        stage.window->open_paths({folder.filePath("models")});
        QCOMPARE(stage.window->preferences().models_folder, folder.filePath("models"));
        stage.window->open_paths({folder.filePath("nothing")});
        QCOMPARE(add.count(), 1);
        QCOMPARE(add[0][0].toStringList(), QStringList{folder.filePath("nothing")});
        stage.window->open_paths({folder.filePath("missing.md")});
        auto* bar = stage.window->findChild<MessageBar*>();
        QVERIFY(bar->sentence().contains("missing.md"));
        bar->show_message(MessageBar::Kind::Note, "a note");
        QVERIFY(bar->sentence().contains("missing.md")); // a note does not replace a failure
    }

    void a_model_of_another_program_can_become_the_default()
    {
        const QTemporaryDir config;
        const QByteArray before = qgetenv("XDG_CONFIG_HOME");
        qputenv("XDG_CONFIG_HOME", config.path().toLocal8Bit());
        Stage stage;
        const QDir folder(stage.folder.path());
        for (const char* name :
             {"lmstudio/maker/repo/x.gguf", "lmstudio/maker/repo/mmproj-x.gguf", "models/own.gguf"}) {
            folder.mkpath(QFileInfo(QString(name)).path());
            QFile file(folder.filePath(name));
            QVERIFY(file.open(QIODevice::WriteOnly));
            file.write("x");
        }
        stage.open();
        auto* box = stage.window->findChild<ModelBar*>()->findChildren<QComboBox*>().first();
        const auto activate = [box](const QString& text) {
            EVENTUALLY(box->findText(text) >= 0);
            const int index = box->findText(text);
            box->setCurrentIndex(index);
            Q_EMIT box->activated(index);
        };
        EVENTUALLY_EQUAL(box->itemText(0), QString("palimpsest-small (shipped)"));
        QCOMPARE(box->itemText(1), QString("own"));
        QCOMPARE(box->itemText(2), QString("maker/repo/x (LM Studio)"));
        QCOMPARE(box->findText("Make this model the default"), -1); // the shipped model is chosen

        QSignalSpy model(stage.window.get(), &MainWindow::model_wanted);
        activate("maker/repo/x (LM Studio)");
        const QString path = folder.filePath("lmstudio/maker/repo/x.gguf");
        QCOMPARE(model.count(), 1);
        QCOMPARE(model[0][0].value<ModelChoiceRequest>().model, path);
        activate("Make this model the default");
        QCOMPARE(QString::fromStdString(storage::set_default()), path);
        EVENTUALLY_EQUAL(box->currentText(), QString("x (default)"));
        QVERIFY(stage.window->preferences().model.model.isEmpty());
        QCOMPARE(model.count(), 1); // no new request: the model is already loaded
        activate("palimpsest-small (shipped)");
        QVERIFY(model[1][0].value<ModelChoiceRequest>().model.endsWith("palimpsest-small.gguf"));

        QFile file(config.filePath("palimpsest/config.json"));
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write("damaged");
        file.close();
        activate("Make this model the default");
        QVERIFY(stage.window->findChild<MessageBar*>()->sentence().contains("it is not a JSON object"));
        qputenv("XDG_CONFIG_HOME", before);
    }

    void a_slow_disk_delays_only_the_list_of_models()
    {
        std::promise<void> disk;
        const std::shared_future<void> answer = disk.get_future().share();
        Stage stage;
        stage.find_models = [answer](const ModelQuery&, const std::stop_token&) {
            answer.wait();
            return ModelsHere{.default_model = "/models/slow.gguf",
                              .models = {{.name = "slow", .path = "/models/slow.gguf"},
                                         {.name = "far", .path = "/models/far.gguf"}}};
        };
        stage.open();
        auto answers = qScopeGuard([&] { disk.set_value(); });
        auto* box = stage.window->findChild<ModelBar*>()->findChildren<QComboBox*>().first();
        QCOMPARE(box->currentText(), QString("Looking for models…"));
        QSignalSpy model(stage.window.get(), &MainWindow::model_wanted);
        const int shipped = box->findText("palimpsest-small (shipped)"); // can be chosen during the search
        QVERIFY(shipped >= 0);
        Q_EMIT box->activated(shipped);
        QCOMPARE(model.count(), 1);
        QCOMPARE(box->currentText(), QString("palimpsest-small (shipped)"));
        answers.dismiss();
        disk.set_value();
        EVENTUALLY(box->findText("far") >= 0);
        QVERIFY(box->findText("slow (default)") >= 0);
        QCOMPARE(box->findText("Looking for models…"), -1);
        QCOMPARE(box->currentText(), QString("palimpsest-small (shipped)")); // the choice is kept
    }

    void the_window_closes_while_a_disk_does_not_answer()
    {
        struct Disk {
            std::promise<void> is_asked, answers;
            std::stop_token stop;
        };
        const auto disk = std::make_shared<Disk>();
        Stage stage;
        stage.find_models = [disk](const ModelQuery&, const std::stop_token& stop) {
            disk->stop = stop;
            disk->is_asked.set_value();
            disk->answers.get_future().wait();
            return ModelsHere{};
        };
        stage.open();
        disk->is_asked.get_future().wait();
        stage.window.reset(); // returns although the search has not
        stage.find_models = nullptr;
        QVERIFY(disk->stop.stop_requested());
        QVERIFY(disk.use_count() > 1); // the thread of the search still holds it
        disk->answers.set_value();
        EVENTUALLY_EQUAL(disk.use_count(), 1); // that thread has ended
    }

    void the_shipped_model_is_offered_if_the_search_fails()
    {
        Stage stage;
        stage.find_models = [](const ModelQuery&, const std::stop_token&) -> ModelsHere { throw std::bad_alloc(); };
        stage.open();
        auto* box = stage.window->findChild<ModelBar*>()->findChildren<QComboBox*>().first();
        EVENTUALLY_EQUAL(box->itemText(0), QString("palimpsest-small (shipped)"));
        QCOMPARE(box->findText("Looking for models…"), -1);
    }

    void a_missing_default_model_is_shown_as_missing()
    {
        const QTemporaryDir config;
        const QByteArray before = qgetenv("XDG_CONFIG_HOME");
        qputenv("XDG_CONFIG_HOME", config.path().toLocal8Bit());
        const auto restore = qScopeGuard([&] { qputenv("XDG_CONFIG_HOME", before); });
        storage::set_default("/no/such/model.gguf");
        Stage stage;
        auto* box = stage.window->findChild<ModelBar*>()->findChildren<QComboBox*>().first();
        EVENTUALLY_EQUAL(box->itemText(0), QString("model (missing)"));
        QCOMPARE(box->currentIndex(), 0);
        QVERIFY(box->itemData(0, Qt::ToolTipRole).toString().contains("not on this machine any more"));
        QSignalSpy model(stage.window.get(), &MainWindow::model_wanted);
        const int shipped = box->findText("palimpsest-small (shipped)");
        QVERIFY(shipped >= 0);
        Q_EMIT box->activated(shipped);
        QCOMPARE(model.count(), 1);
        QVERIFY(model[0][0].value<ModelChoiceRequest>().model.endsWith("palimpsest-small.gguf"));

        QFile file(config.filePath("palimpsest/config.json"));
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write("damaged");
        file.close();
        stage.window->findChild<ModelBar*>()->refresh_area();
        EVENTUALLY_EQUAL(box->itemText(0), QString("The default cannot be read"));
    }

    void an_ollama_model_is_named_by_its_manifest_once_it_is_read()
    {
        std::promise<void> disk;
        const std::shared_future<void> answer = disk.get_future().share();
        Stage stage;
        const QDir folder(stage.folder.path());
        const QString digest(64, u'a');
        const auto write = [&](const QString& name, const QByteArray& content) {
            folder.mkpath(QFileInfo(name).path());
            QFile file(folder.filePath(name));
            QVERIFY(file.open(QIODevice::WriteOnly));
            file.write(content);
        };
        write("ollama/blobs/sha256-" + digest, "x");
        write("ollama/manifests/registry.ollama.ai/library/tiny/1b",
              R"({"layers": [{"mediaType": "application/vnd.ollama.image.model", "digest": "sha256:)" +
                  digest.toLatin1() + R"("}]})");
        Preferences preferences = stage.store->load();
        preferences.model.model = folder.filePath("ollama/blobs/sha256-" + digest);
        stage.store->save(preferences);
        stage.find_models = [answer](const ModelQuery& wanted, const std::stop_token& stop) {
            answer.wait();
            return find_models_here(wanted, stop);
        };
        stage.open();
        auto answers = qScopeGuard([&] { disk.set_value(); });
        auto* box = stage.window->findChild<ModelBar*>()->findChildren<QComboBox*>().first();
        QCOMPARE(box->currentText(), "sha256-" + digest);
        answers.dismiss();
        disk.set_value();
        EVENTUALLY_EQUAL(box->currentText(), QString("tiny:1b"));
        QCOMPARE(box->currentData().toString(), preferences.model.model);
    }

    void an_export_gets_the_ending_of_its_format()
    {
        QCOMPARE(with_export_ending("a/b.palimpsest", ".palimpsest"), QString("a/b.palimpsest"));
        QCOMPARE(with_export_ending("a/b.palimpsest", ".html"), QString("a/b.html"));
        QCOMPARE(with_export_ending("a/v1.2", ".md"), QString("a/v1.2.md"));
        QCOMPARE(with_export_ending("a/b.json", ".palimpsest"), QString("a/b.json"));
        QCOMPARE(with_export_ending("a/b", ".palimpsest"), QString("a/b.palimpsest"));
    }

    void the_open_dialog_offers_only_readable_formats()
    {
        Stage stage;
        QStringList filters;
        QTimer look;
        connect(&look, &QTimer::timeout, this, [&] {
            auto* dialog = qobject_cast<QFileDialog*>(QApplication::activeModalWidget());
            if (!dialog) return;
            filters = dialog->nameFilters();
            dialog->reject();
        });
        look.start(10);
        stage.window->actions()[ActionId::OpenFiles]->trigger(); // returns once the dialog is closed
        QVERIFY(!filters.isEmpty());
        const auto refused_as = [&](const QString& ending) {
            QFile file(stage.folder.filePath("book" + ending));
            if (!file.open(QIODevice::WriteOnly) || file.write("The keeper wrote.\n") < 0)
                return QString("no file");
            file.close();
            std::istringstream nothing;
            std::string block;
            try {
                storage::Document(file.fileName().toStdString(), nothing).next(block);
                return QString();
            } catch (const Error& error) { // a file of a known format may be damaged
                const bool is_unknown = error.code() == ErrorCode::UnsupportedDocument;
                return is_unknown ? QString::fromStdString(error.text().english()) : QString();
            }
        };
        QStringList offered;
        for (auto match = QRegularExpression("\\*(\\.\\w+)").globalMatch(filters.first()); match.hasNext();)
            offered << match.next().captured(1);
        for (const char* ending : {".txt", ".md", ".pdf", ".epub", ".docx", ".odt", ".html"})
            QVERIFY2(offered.contains(ending), ending);
        for (const QString& ending : offered)
            QVERIFY2(refused_as(ending).isEmpty(), qPrintable(ending + ": " + refused_as(ending)));
        for (const char* ending : {".rtf", ".zip", ".png", ".db"}) {
            QVERIFY2(!refused_as(ending).isEmpty(), ending);
            QVERIFY2(!offered.contains(ending), ending);
        }
    }

    void the_text_size_can_be_changed_and_reset()
    {
        Stage stage;
        const double usual = QApplication::font().pointSizeF();
        stage.window->actions()[ActionId::LargerText]->trigger();
        QVERIFY(QApplication::font().pointSizeF() > usual);
        for (int i = 0; i < 100; ++i)
            stage.window->actions()[ActionId::SmallerText]->trigger();
        QVERIFY(QApplication::font().pointSizeF() >= usual * least_text_percent / 100 - 0.1);
        stage.window->actions()[ActionId::NormalText]->trigger();
        QCOMPARE(QApplication::font().pointSizeF(), usual);
    }

    void colours_have_enough_contrast()
    {
        for (const Colours colours : {Colours::Light, Colours::Dark}) {
            use_colours(colours);
            const QPalette palette = QApplication::palette();
            QCOMPARE(is_dark(palette), colours == Colours::Dark);
            QVERIFY(contrast(palette.color(QPalette::WindowText), palette.color(QPalette::Window)) >= 4.5);
            QVERIFY(contrast(palette.color(QPalette::Text), palette.color(QPalette::Base)) >= 4.5);
            QVERIFY(contrast(palette.color(QPalette::Text), palette.color(QPalette::AlternateBase)) >= 4.5);
            QVERIFY(contrast(palette.color(QPalette::ButtonText), palette.color(QPalette::Button)) >= 4.5);
            QVERIFY(contrast(palette.color(QPalette::HighlightedText), palette.color(QPalette::Highlight)) >= 4.5);
            QVERIFY(contrast(palette.color(QPalette::Link), palette.color(QPalette::Base)) >= 4.5);
            QVERIFY(contrast(palette.color(QPalette::PlaceholderText), palette.color(QPalette::Base)) >= 4.5);
            QVERIFY(contrast(secondary_text(palette), palette.color(QPalette::Window)) >= 4.5);
        }
        use_colours(Colours::AsDesktop);
    }

    void the_texts_of_the_tour_are_not_clipped()
    {
        const QFont usual = QApplication::font();
        for (const char* family : {"DejaVu Sans", "DejaVu Sans Mono", "DejaVu Serif"}) {
            QApplication::setFont(QFont(QLatin1String(family), 9));
            Stage stage;
            stage.window->resize(1280, 800);
            stage.window->start_tour();
            for (int step = 0; step < stage.window->tour()->steps(); ++step, stage.window->tour()->next())
                QCOMPARE(clipped(*stage.window->tour()).join(u'\n'), QString());
        }
        QApplication::setFont(usual);
    }

    void a_first_window_fits_its_screen_with_its_frame()
    {
        Stage stage;
        const int title_bar = stage.window->style()->pixelMetric(QStyle::PM_TitleBarHeight);
        const int room = stage.window->screen()->availableSize().height() - title_bar;
        QVERIFY(stage.window->height() <= std::max(room, stage.window->minimumSizeHint().height()));
    }

    void the_tour_works_by_keyboard()
    {
        Stage stage;
        stage.window->activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(stage.window.get(), test::patience_ms));
        QVERIFY(!stage.store->tour_was_taken());
        QSignalSpy read(stage.window.get(), &MainWindow::read_wanted);
        QSignalSpy ask(stage.window.get(), &MainWindow::ask_wanted);
        stage.window->actions()[ActionId::TakeTour]->trigger();
        Tour* tour = stage.window->tour();
        QCOMPARE(tour->step(), 0);
        const auto press = [&](Qt::Key key) { QTest::keyClick(QApplication::focusWidget(), key); };
        QVERIFY(tour->isAncestorOf(QApplication::focusWidget()));
        press(Qt::Key_Return); // the offered button has the focus
        QCOMPARE(read.count(), 1);
        QVERIFY(read[0][0].toStringList().first().endsWith("ashford-light.md"));
        press(Qt::Key_Right);
        QCOMPARE(tour->step(), 1);
        press(Qt::Key_Return);
        QCOMPARE(ask.count(), 1);
        press(Qt::Key_Left);
        QCOMPARE(tour->step(), 0);
        for (int step = 1; step < tour->steps(); ++step) {
            press(Qt::Key_Right);
            QCOMPARE(tour->step(), step);
            QVERIFY(stage.window->rect().contains(QRect(tour->mapTo(stage.window.get(), QPoint()), tour->size())));
            QVERIFY(!tour->accessibleDescription().isEmpty());
        }
        press(Qt::Key_Return); // Done
        QCOMPARE(tour->step(), -1);
        QVERIFY(!tour->isVisible());
        QVERIFY(stage.store->tour_was_taken());
        stage.window->actions()[ActionId::TakeTour]->trigger();
        QCOMPARE(tour->step(), 0);
        press(Qt::Key_Escape);
        QCOMPARE(tour->step(), -1);
    }

    void the_tour_outlines_a_visible_area_and_offers_to_show_a_hidden_one()
    {
        Stage stage;
        auto* tabs = stage.window->findChild<QTabWidget*>();
        stage.window->start_tour();
        Tour* tour = stage.window->tour();
        const auto offer = [&]() -> QPushButton* {
            for (auto* button : tour->findChildren<QPushButton*>())
                if (button->isVisible() && button->text() == "&Show it") return button;
            return nullptr;
        };
        const auto place_of = [&](const QWidget* area) {
            return QRect(area->mapTo(stage.window.get(), QPoint()), area->size());
        };
        EVENTUALLY_EQUAL(tour->outlined(), place_of(stage.window->findChild<QDockWidget*>("library")));
        QVERIFY(!offer());
        stage.window->show_tab(Tab::Compare);
        stage.window->complete_task(TourTask::Ask); // not the task of this step
        QCOMPARE(tour->step(), 0);
        stage.window->complete_task(TourTask::Read);
        QCOMPARE(tour->step(), 2);
        QCOMPARE(tabs->currentIndex(), static_cast<int>(Tab::Compare));
        QCOMPARE(tour->outlined(), QRect());
        QVERIFY(offer());
        offer()->click();
        QCOMPARE(tabs->currentIndex(), static_cast<int>(Tab::Document));
        QVERIFY(!offer());
        EVENTUALLY_EQUAL(tour->outlined(), place_of(tabs));
        stage.window->resize(stage.window->size() + QSize(40, 30));
        EVENTUALLY_EQUAL(tour->outlined(), place_of(tabs));
        stage.window->show_tab(Tab::Chat);
        QCOMPARE(tour->outlined(), QRect());
        tour->next();
        tour->next();
        tour->next();
        EVENTUALLY_EQUAL(tour->outlined(), place_of(stage.window->findChild<QDockWidget*>("policy")));
        stage.window->findChild<QDockWidget*>("memory")->raise(); // the memory dock now covers the policy dock
        EVENTUALLY_EQUAL(tour->outlined(), QRect());
        QVERIFY(offer());
    }

    void a_notification_is_shown_only_while_the_window_is_inactive()
    {
        QWidget window;
        Notifier notifier(&window);
        QSignalSpy told(&notifier, &Notifier::told);
        notifier.set_running(true, "reading");
        notifier.tell("read", "done");
        QCOMPARE(told.count(), 1);
        window.show();
        window.activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(&window, test::patience_ms));
        notifier.tell("read", "done");
        QCOMPARE(told.count(), 1); // unchanged: the window is active
    }

    void without_a_system_bus_sleep_is_not_inhibited()
    {
        qputenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/nonexistent");
        SleepInhibitor inhibitor;
        inhibitor.set_wanted(true, "reading");
        QVERIFY(stays([&] { return !inhibitor.holds(); }, 20));
        inhibitor.set_wanted(false, {});
    }

    void every_interactive_widget_has_a_name()
    {
        Stage stage(true);
        stage.window->set_frame(reading_frame());
        stage.window->tell(MessageBar::Kind::Failure, "Something is wrong; do something.");
        stage.window->start_tour();
        QCOMPARE(nameless(*stage.window), QStringList());
        SettingsDialog settings(stage.window->preferences(), {}, nullptr);
        QCOMPARE(nameless(settings), QStringList());
        AboutDialog about("0.1.0", {{"a", "b", 1}}, AboutPage::Program, nullptr);
        QCOMPARE(nameless(about), QStringList());
        KeyboardHelp help(stage.window->actions(), nullptr);
        QCOMPARE(nameless(help), QStringList());
        CommandPalette palette(stage.window->actions(), stage.window.get());
        QCOMPARE(nameless(palette), QStringList());
    }

    void keyboard_help_lists_every_key()
    {
        Stage stage;
        KeyboardHelp help(stage.window->actions(), nullptr);
        const auto* list = help.findChild<QTreeWidget*>();
        for (const QAction* action : stage.window->actions().in_menus())
            QVERIFY2(!list->findItems(plain_text(*action), Qt::MatchExactly | Qt::MatchRecursive).isEmpty(),
                     qPrintable(action->text()));
        QCOMPARE(list->topLevelItemCount(), static_cast<int>(MenuId::Count));
    }

    void closing_the_window_commits_pending_removals()
    {
        Stage stage(true);
        QSignalSpy removed(stage.window.get(), &MainWindow::remove_wanted);
        EVENTUALLY(stage.window->library().model().index_of("Notes").isValid());
        stage.window->library().choose("Notes");
        QVERIFY(stage.window->actions()[ActionId::Remove]->isEnabled());
        stage.window->actions()[ActionId::Remove]->trigger();
        QVERIFY(stage.window->actions()[ActionId::UndoRemoval]->isEnabled());
        stage.window->actions()[ActionId::UndoRemoval]->trigger();
        QVERIFY(stage.window->library().model().index_of("Notes").isValid());
        stage.window->actions()[ActionId::Remove]->trigger();
        QCOMPARE(removed.count(), 0);
        stage.window->close();
        QCOMPARE(removed.count(), 1);
    }

    void an_idle_window_has_no_active_timer()
    {
        Stage stage(true);
        stage.window->set_frame(reading_frame());
        stage.window->set_frame({});
        stage.wait_for_library();
        const auto running = [&] {
            QStringList parents;
            for (const QTimer* timer : stage.window->findChildren<QTimer*>())
                if (timer->isActive()) parents << QLatin1String(timer->parent()->metaObject()->className());
            return parents.join(u' ');
        };
        EVENTUALLY_EQUAL(running(), QString());
    }

    // Measures from the construction of the window to its first painting, without the start of the process.
    void the_window_is_painted_within_a_second()
    {
        Stage stage(true);
        stage.window.reset();
        std::clock_t before = std::clock(); // processor time does not depend on other programs
        stage.window =
            std::make_unique<MainWindow>(placeholders(), WindowPlaces{.database = stage.database}, *stage.store);
        QSignalSpy painted(stage.window.get(), &MainWindow::first_painted);
        stage.window->show();
        EVENTUALLY_EQUAL(painted.count(), 1);
        const double seconds = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
        qInfo("painted after %.0f ms of a processor", 1000 * seconds);
        if (!is_sanitized) QVERIFY(seconds < 1);
        stage.wait_for_library();
        before = std::clock();
        QTest::qWait(1000); // a fixed time, because nothing happens in an idle window
        const double share = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
        qInfo("idle: %.2f %% of a processor", 100 * share);
        QVERIFY(share < 0.05); // includes the polling of qWait
    }

    void pictures_of_the_window_and_its_dialogs_are_drawn_data()
    {
        QTest::addColumn<int>("colours");
        QTest::newRow("light") << static_cast<int>(Colours::Light);
        QTest::newRow("dark") << static_cast<int>(Colours::Dark);
    }

    // Draws pictures; if PALIMPSEST_SCREENSHOTS names a folder, saves them there to be looked at.
    void pictures_of_the_window_and_its_dialogs_are_drawn()
    {
        QFETCH(int, colours);
        const QString suffix = QString::fromLatin1(QTest::currentDataTag());
        use_colours(static_cast<Colours>(colours));
        Stage stage(true);
        stage.window->resize(1280, qEnvironmentVariable("QT_SCALE_FACTOR") == "2" ? 720 : 800);
        stage.window->actions()[ActionId::ResetLayout]->trigger();
        EVENTUALLY(stage.window->library().model().index_of("Notes").isValid());
        stage.window->library().choose("Report Q3");
        stage.window->set_session(some_facts("Who kept the lighthouse"));
        stage.window->set_frame(reading_frame());
        grab(*stage.window, "window-" + suffix);
        stage.window->library().remove("Notes");
        QTest::keyClicks(stage.window->library().findChild<QLineEdit*>(), "xx");
        EVENTUALLY(stage.window->library().findChild<QListView*>()->model()->rowCount() > 0);
        stage.window->tell(
            MessageBar::Kind::Failure,
            "book.gguf: tensor 'blk.3.attn_q.weight' ends at byte 91,234 but the file has 88,000 bytes: "
            "the file is truncated; download it again [PAL-MODEL-10]");
        grab(*stage.window, "search-" + suffix);
        stage.window->start_tour();
        grab(*stage.window, "tour-" + suffix);
        for (int step = 1; step < stage.window->tour()->steps(); ++step) {
            stage.window->tour()->next();
            grab(*stage.window, QStringLiteral("tour%1-%2").arg(step).arg(suffix));
        }
        const SettingsFacts facts{
            .usual_models_folder = "~/.local/share/palimpsest/models",
            .usual_database = "~/.local/share/palimpsest/palimpsest.db",
            .languages = {"de"},
            .places = {{"Documents, sessions and saved states", "~/palimpsest.db", 12'345'678},
                       {"Backups of them, one a day", "~/backups", 0}}};
        SettingsDialog settings(stage.window->preferences(), facts, stage.window.get());
        settings.show();
        for (int page = 0; page < 4; ++page) {
            settings.findChild<QListWidget*>()->setCurrentRow(page);
            grab(settings, QStringLiteral("settings%1-%2").arg(page).arg(suffix));
        }
        for (const AboutPage page : {AboutPage::Program, AboutPage::Privacy, AboutPage::Licences}) {
            AboutDialog about("0.1.0", facts.places, page, stage.window.get());
            about.show();
            grab(about, QStringLiteral("about%1-%2").arg(static_cast<int>(page)).arg(suffix));
        }
        KeyboardHelp help(stage.window->actions(), stage.window.get());
        help.show();
        grab(help, "keyboard-" + suffix);
        CommandPalette palette(stage.window->actions(), stage.window.get());
        palette.begin();
        grab(palette, "palette-" + suffix);
        use_colours(Colours::AsDesktop);
    }
};

QTEST_MAIN(WindowUiTest)
#include "window_ui_test.moc"
