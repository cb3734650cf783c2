// The event loop of the whole window is never blocked for long: performs user actions on the largest promised
// texts, chats and libraries while it watches the loop.
#include <QClipboard>
#include <QLineEdit>
#include <QMimeData>
#include <QScrollBar>
#include <QTreeView>
#include <QWheelEvent>
#include <fstream>

#include "storage/database.h"
#include "storage/document_import.h"
#include "storage/library.h"
#include "tests/support/project_folders.h"
#include "tests/ui/desktop/loop_watch.h"
#include "tests/ui/desktop/program.h"
#include "tests/ui/document/synthetic_text.h"
#include "tests/ui/map/synthetic_map.h"
#include "tests/ui/support/looks.h"
#include "tests/ui/support/patience.h"
#include "ui/outline/outline_page.h"
#include "ui/outline/outline_view.h"

namespace palimpsest::tests {

using namespace palimpsest::ui;

namespace {

constexpr double longest_gap_ms = 50;
constexpr double longest_frame_ms = 16; // limit for the median

uint64_t resident_bytes()
{
    std::ifstream statm("/proc/self/statm");
    uint64_t all = 0, resident = 0;
    statm >> all >> resident;
    return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

void turn_wheel(QWidget& over, QPoint steps, Qt::KeyboardModifiers held = Qt::NoModifier)
{
    const QPointF at(over.rect().center());
    QWheelEvent wheel(at, over.mapToGlobal(at), {}, steps * 120, Qt::NoButton, held, Qt::NoScrollPhase, false);
    QApplication::sendEvent(&over, &wheel);
}

// Fills a database with `documents` documents, each read by `sessions` sessions.
void fill_library(const QString& file, int documents, int sessions)
{
    storage::Database db(file.toStdString(), storage::Database::Access::Write);
    db.statement("PRAGMA synchronous = OFF").exec();
    storage::Conversations conversations(db);
    for (int i = 0; i < documents; ++i) {
        const std::string title = "Chronicle " + std::to_string(i);
        storage::Import import(db, title, "/books/" + title, "tokenizer");
        import.add_text("The keeper lit the lamp.");
        import.add_tokens(std::vector<engine::EncodedToken>{{.id = 1, .end = 24 }});
        const int64_t document = import.finish({.title = title, .source_bytes = 24, .source_hash = i});
        for (int j = 0; j < sessions; ++j) {
            const int64_t session = conversations.create({.name = title + ", chat " + std::to_string(j),
                                                          .model = "m",
                                                          .model_name = "small",
                                                          .options = "{}"});
            conversations.append(session, storage::StreamDocument{.id = document, .tokens = 1});
        }
    }
}

// Stores a session with `turns` questions and answers. Returns the facts that the engine would publish about it.
std::shared_ptr<const SessionFacts> long_chat(const QString& file, int turns)
{
    storage::Database db(file.toStdString(), storage::Database::Access::Write);
    storage::Conversations conversations(db);
    auto facts = std::make_shared<SessionFacts>();
    facts->name = QStringLiteral("A long chat");
    facts->id = conversations.create({.name = "A long chat", .model = "m", .model_name = "small", .options = "{}"});
    facts->layers = 6;
    facts->kv_heads = 4;
    facts->policy = QStringLiteral("treekv");
    facts->options.budget = 512;
    facts->options.chunk = 256;
    db.transaction([&] {
        std::optional<int64_t> parent;
        for (int i = 0; i < turns; ++i) {
            const bool asks = i % 2 == 0;
            const std::string text = asks ? "Who kept the light in year " + std::to_string(i) + "?"
                                          : "In year " + std::to_string(i) +
                                                " it was **the keeper**:\n\n1. at dusk,\n2. at dawn, with `oil`.\n";
            const storage::Role role = asks ? storage::Role::User : storage::Role::Assistant;
            parent = conversations.add_message(facts->id,
                                               {.parent = parent, .role = role, .text = text, .ids = {1, 2, 3, 4}});
            conversations.append(facts->id, storage::StreamMessage{.id = parent, .tokens = 4});
            const auto first = static_cast<uint64_t>(i) * 4;
            facts->turns.push_back({.message = *parent,
                                    .role = role,
                                    .text = QString::fromStdString(text),
                                    .range = {first, first + 4},
                                    .earlier = {},
                                    .provenance = {}});
        }
    });
    return facts;
}

// A document with a section and a stretch for each of `notes`, and the first half of them.
std::shared_ptr<SessionFacts> long_outline(int notes)
{
    constexpr uint64_t tokens = 500; // of a stretch
    auto facts = std::make_shared<SessionFacts>();
    facts->id = -1;
    facts->name = QStringLiteral("A long outline");
    facts->layers = 6;
    facts->kv_heads = 4;
    facts->policy = QStringLiteral("treekv");
    const uint64_t all = tokens * static_cast<uint64_t>(notes);
    DocumentPart part{.info = {.id = 1, .title = "A long book", .tokens = all}, .range = {0, all}, .sections = {}};
    auto stretches = std::make_shared<std::vector<storage::Stretch>>();
    for (int i = 0; i < notes; ++i) {
        const auto first = tokens * static_cast<uint64_t>(i);
        part.sections.push_back(
            {.title = "Chapter " + std::to_string(i), .first_token = first, .first_byte = 4 * first});
        stretches->push_back({.first_token = first,
                              .end_token = first + tokens,
                              .first_byte = 4 * first,
                              .end_byte = 4 * (first + tokens),
                              .section = i});
        facts->notes.push_back(
            {.document = 1,
             .about = stretches->back(),
             .origin = i % 3 == 0 ? storage::NoteOrigin::Written : storage::NoteOrigin::Quoted,
             .text = "In chapter " + std::to_string(i) +
                     " the keeper wrote down the wind and the weather, lit the lamp at dusk, and "
                     "waited for the boat that was to bring oil, bread and letters from the town."});
    }
    part.stretches = stretches;
    facts->documents.push_back(std::move(part));
    facts->tokens_in_input = facts->tokens_read = all;
    return facts;
}

} // namespace

class SmoothnessTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init();
    void cleanup();
    void pasting_half_a_million_tokens_does_not_block();
    void reading_and_answering_do_not_block_map_and_document();
    void ten_million_tokens_scroll_and_zoom_smoothly();
    void a_chat_of_ten_thousand_turns_does_not_block();
    void an_outline_of_two_thousand_notes_does_not_block();
    void a_library_of_two_thousand_sessions_does_not_block();
    void changes_of_tab_size_and_colours_do_not_block();

private:
    static void check(const LoopReport& report)
    {
        QVERIFY2(report.cpu_ms <= longest_gap_ms, qPrintable(report.text(QStringLiteral("Too long"))));
    }
    static WatchedApplication& loop() { return WatchedApplication::instance(); }
    void make_program(const QString& sample = {});
    bool reads_some_chunks(int chunks);

    std::unique_ptr<QTemporaryDir> folder_;
    std::unique_ptr<Program> program_;
};

void SmoothnessTest::init()
{
    folder_ = std::make_unique<QTemporaryDir>();
}

void SmoothnessTest::cleanup()
{
    loop().time_no_paints();
    program_.reset();
    QApplication::setPalette(test::light_palette());
}

// Opens a program with default settings, but without the tour.
void SmoothnessTest::make_program(const QString& sample)
{
    program_ = std::make_unique<Program>(folder_->path(), sample);
    program_->store().set_tour_taken();
    QVERIFY(QTest::qWaitForWindowExposed(&program_->window(), test::patience_ms));
}

bool SmoothnessTest::reads_some_chunks(int chunks)
{
    const auto frame = program_->bench().frame();
    return frame->activity == Activity::Reading &&
           frame->telemetry.tokens_seen >
               static_cast<uint64_t>(chunks * program_->window().preferences().new_session().chunk);
}

void SmoothnessTest::pasting_half_a_million_tokens_does_not_block()
{
    make_program();
    program_->bench().begin({});
    QVERIFY(program_->settle());
    QString text;
    for (int i = 0; text.size() < 2'500'000; ++i)
        text += QStringLiteral("In year %1 the keeper lit the lamp at dusk and wrote down the wind.\n").arg(i);
    QGuiApplication::clipboard()->setText(text);
    QWidget* field = program_->areas().chat()->composer()->field();
    field->setFocus();
    check(loop().watch(
        QStringLiteral("pasting %1 bytes until 4 chunks are read").arg(text.size()),
        [&] { QTest::keyClick(field, Qt::Key_V, Qt::ControlModifier); }, 120000,
        [&] { return reads_some_chunks(4); }));
    QVERIFY(reads_some_chunks(4));
    QVERIFY(program_->facts()); // the document is imported, so the facts name it
    QCOMPARE(program_->facts()->documents.size(), size_t{1});
    QVERIFY2(program_->facts()->tokens_in_input >= 500'000,
             qPrintable(QString::number(program_->facts()->tokens_in_input)));
    check(loop().watch(
        QStringLiteral("stopping it"), [&] { program_->engine().stop(); }, 60000,
        [&] { return program_->engine().is_idle(); }));
}

void SmoothnessTest::reading_and_answering_do_not_block_map_and_document()
{
    make_program(QString::fromStdString(palimpsest::tests::source_file("resources/samples/ashford-light.md")));
    program_->bench().begin({});
    QVERIFY(program_->settle());
    program_->window().show_tab(Tab::Document);
    DocumentView* text = program_->areas().document()->view();
    check(loop().watch(
        QStringLiteral("opening the sample, until it is read and its text is there"),
        [&] { program_->window().open_paths({program_->window().places().sample}); }, 120000,
        [&] {
            return reads_some_chunks(2) && text->text_layout().is_complete() &&
                   !text->text_layout().visible_text().isEmpty();
        }));
    RetentionView* map = program_->areas().map();
    loop().time_paints_of(map->viewport(), [=] { return map->frames_painted(); });
    check(loop().repeat(QStringLiteral("scrolling the document while it is read"), 300, [&](int i) {
        turn_wheel(*text->viewport(), {0, i % 100 < 60 ? -1 : 1});
    }));
    check(loop().repeat(QStringLiteral("zooming the map while it is read"), 120, [&](int i) {
        turn_wheel(*map->viewport(), {0, i % 60 < 30 ? 1 : -1});
    }));
    QVERIFY2(median_of(loop().paints()) <= longest_frame_ms,
             qPrintable(QString::number(median_of(loop().paints()))));
    QVERIFY(!text->text_layout().visible_text().isEmpty());
    program_->engine().stop(); // a question needs a document that is read completely
    program_->window().open_paths({part_of_sample(*folder_, 8000)});
    QVERIFY(program_->settle());
    program_->window().show_tab(Tab::Chat);
    check(loop().watch(
        QStringLiteral("asking, until the answer is there"),
        [&] { program_->say(QStringLiteral("Who kept the light after the storm?")); }, 120000,
        [&] { return program_->areas().chat()->view()->turns().count() == 2 && program_->engine().is_idle(); }));
    QCOMPARE(program_->failures().join(u'\n'), QString());
}

void SmoothnessTest::ten_million_tokens_scroll_and_zoom_smoothly()
{
    make_program();
    const auto map =
        synthetic_map({.layers = 32, .kv_heads = 8, .tokens = 10'000'000, .kept = 4096, .ragged = false});
    const SyntheticText text;
    DocumentPage* page = program_->areas().document();
    RetentionView* view = program_->areas().map();
    program_->window().show_tab(Tab::Document);
    check(loop().watch(
        QStringLiteral("opening 10,000,000 tokens"),
        [&] {
            page->set_source(text.source());
            page->set_kept(map);
            view->set_map(map);
        },
        10000, [&] { return page->view()->text_layout().is_complete() && view->frames_painted() > 0; }));
    const uint64_t before = resident_bytes();
    check(loop().repeat(QStringLiteral("turning the wheel over the document"), 200, [&](int) {
        turn_wheel(*page->view()->viewport(), {0, -3});
    }));
    QScrollBar* bar = page->view()->verticalScrollBar();
    check(loop().repeat(QStringLiteral("dragging its scroll bar"), 200, [&](int i) {
        bar->setSliderPosition(static_cast<int>(static_cast<int64_t>(bar->maximum()) * (i * 37 % 200) / 200));
    }));
    check(loop().repeat(QStringLiteral("paging through it"), 100,
                        [&](int) { QTest::keyClick(page->view(), Qt::Key_PageDown); }));
    loop().time_paints_of(view->viewport(), [=] { return view->frames_painted(); });
    check(loop().watch(
        QStringLiteral("expanding all layers"), [&] { view->expand_all(); }, 500));
    check(loop().repeat(QStringLiteral("zooming the map"), 240, [&](int i) {
        turn_wheel(*view->viewport(), {0, i % 80 < 50 ? 1 : -1});
    }));
    const QPoint middle = view->viewport()->rect().center();
    QTest::mousePress(view->viewport(), Qt::LeftButton, {}, middle);
    check(loop().repeat(QStringLiteral("dragging the map"), 200, [&](int i) {
        QTest::mouseMove(view->viewport(), middle + QPoint(i % 80 < 40 ? i % 40 : 40 - i % 40, i % 7));
    }));
    QTest::mouseRelease(view->viewport(), Qt::LeftButton, {}, middle);
    check(loop().repeat(QStringLiteral("moving over the map"), 200,
                        [&](int i) { QTest::mouseMove(view->viewport(), QPoint(20 + i % 150, 20 + i % 90)); }));
    check(loop().watch(
        QStringLiteral("collapsing all layers"), [&] { view->collapse_all(); }, 500));
    qInfo("%zu map frames, median %.2f ms", loop().paints().size(), median_of(loop().paints()));
    QVERIFY(loop().paints().size() > 100);
    QVERIFY2(median_of(loop().paints()) <= longest_frame_ms,
             qPrintable(QString::number(median_of(loop().paints()))));
    const auto grown = static_cast<int64_t>(resident_bytes()) - static_cast<int64_t>(before);
    qInfo("scrolling and zooming took %lld KiB more", static_cast<long long>(grown / 1024));
    constexpr int64_t most = int64_t{96} << 20; // cached text pages and rendered pixels
    QVERIFY2(grown < most, qPrintable(QString::number(grown)));
}

void SmoothnessTest::a_chat_of_ten_thousand_turns_does_not_block()
{
    const auto facts = long_chat(folder_->filePath(QStringLiteral("palimpsest.db")), 10'000);
    make_program();
    ChatView* chat = program_->areas().chat()->view();
    check(loop().watch(
        QStringLiteral("opening 10,000 turns"), [&] { Q_EMIT program_->engine().session_changed(facts); }, 2000));
    QCOMPARE(chat->turns().count(), 10'000);
    auto more = std::make_shared<SessionFacts>(*facts);
    more->turns.push_back(facts->turns[0]);
    more->turns.push_back(facts->turns[1]);
    check(loop().watch(
        QStringLiteral("being told of two more turns"), [&] { Q_EMIT program_->engine().session_changed(more); },
        1000));
    QScrollBar* bar = chat->verticalScrollBar();
    check(loop().repeat(QStringLiteral("scrolling through them"), 200, [&](int i) {
        bar->setSliderPosition(static_cast<int>(int64_t{bar->maximum()} * i / 200));
    }));
    check(loop().watch(
        QStringLiteral("to their text"), [&] { program_->window().show_tab(Tab::Document); }, 1000));
    check(loop().watch(
        QStringLiteral("another width"), [&] { program_->window().resize(1000, 700); }, 1000));
    program_->window().show_tab(Tab::Chat);
    check(loop().watch(
        QStringLiteral("dark colours"), [] { QApplication::setPalette(test::dark_palette()); }, 1000));
    QCOMPARE(program_->failures().join(u'\n'), QString());
}

void SmoothnessTest::an_outline_of_two_thousand_notes_does_not_block()
{
    constexpr int notes = 2000;
    const auto whole = long_outline(notes);
    auto half = std::make_shared<SessionFacts>(*whole);
    half->notes.resize(notes / 2);
    make_program();
    OutlinePage& page = *program_->areas().outline();
    OutlineView& view = *page.view();
    program_->window().show_tab(Tab::Outline);
    check(loop().watch(
        QStringLiteral("opening 1,000 of 2,000 notes"), [&] { Q_EMIT program_->engine().session_changed(half); },
        2000));
    QCOMPARE(page.model().notes(0).written, notes / 2);
    check(loop().repeat(QStringLiteral("the others arriving"), notes / 2, [&](int i) {
        Q_EMIT program_->engine().note_written(whole->notes[static_cast<size_t>(notes / 2 + i)]);
    }));
    QCOMPARE(page.model().notes(0).written, notes);
    check(loop().watch(
        QStringLiteral("being told of them all"), [&] { Q_EMIT program_->engine().session_changed(whole); }, 2000));
    for (const uint32_t kept : {512u, 4096u}) {
        const auto map = synthetic_map(
            {.layers = 6, .kv_heads = 4, .tokens = whole->tokens_read, .kept = kept, .ragged = false});
        check(loop().watch(
            QStringLiteral("another map of what is kept"), [&] { page.set_kept(map); }, 1000));
    }
    check(loop().repeat(QStringLiteral("turning the wheel over them"), 200, [&](int) {
        turn_wheel(*view.viewport(), {0, -3});
    }));
    QScrollBar* bar = view.verticalScrollBar();
    check(loop().repeat(QStringLiteral("dragging the scroll bar"), 200, [&](int i) {
        bar->setSliderPosition(static_cast<int>(int64_t{bar->maximum()} * (i * 37 % 200) / 200));
    }));
    check(loop().repeat(QStringLiteral("the keys of the outline"), 100,
                        [&](int) { QTest::keyClick(&view, Qt::Key_Down); }));
    check(loop().watch(
        QStringLiteral("to the end"), [&] { QTest::keyClick(&view, Qt::Key_End); }, 1000));
    check(loop().repeat(QStringLiteral("resizing the window"), 60,
                        [&](int i) { program_->window().resize(1100 + 8 * (i < 30 ? i : 60 - i), 700); }));
    check(loop().watch(
        QStringLiteral("dark colours"), [] { QApplication::setPalette(test::dark_palette()); }, 1000));
    QCOMPARE(program_->failures().join(u'\n'), QString());
}

void SmoothnessTest::a_library_of_two_thousand_sessions_does_not_block()
{
    fill_library(folder_->filePath(QStringLiteral("palimpsest.db")), 200, 10);
    make_program();
    LibraryView& library = program_->window().library();
    check(loop().watch(
        QStringLiteral("the library is shown"), [&] { library.refresh(); }, 20000,
        [&] { return library.model().all_sessions().size() == 2000; }));
    QCOMPARE(library.model().all_sessions().size(), 2000);
    check(loop().watch(
        QStringLiteral("read again as it was"), [&] { library.refresh(); }, 1500));
    auto* tree = library.findChild<QTreeView*>();
    QVERIFY(tree);
    check(loop().repeat(QStringLiteral("scrolling it"), 100, [&](int) { turn_wheel(*tree->viewport(), {0, -3}); }));
    check(loop().watch(
        QStringLiteral("choosing the last"), [&] { library.choose(QStringLiteral("Chronicle 199, chat 9")); },
        500));
    auto* search = library.findChild<QLineEdit*>();
    QVERIFY(search);
    search->setFocus();
    check(loop().repeat(QStringLiteral("typing a search"), 9,
                        [&](int i) { QTest::keyClick(search, "chronicle"[i]); }));
    check(loop().watch(
        QStringLiteral("the search"), [] {}, 1500));
    check(loop().watch(
        QStringLiteral("leaving it"), [&] { search->clear(); }, 1000));
    check(loop().repeat(QStringLiteral("the keys of the tree"), 100,
                        [&](int) { QTest::keyClick(tree, Qt::Key_Down); }));
}

void SmoothnessTest::changes_of_tab_size_and_colours_do_not_block()
{
    make_program();
    const auto map = synthetic_map({.layers = 32, .kv_heads = 8, .tokens = 1'000'000, .kept = 2048});
    program_->areas().document()->set_source(SyntheticText{.tokens = 1'000'000}.source());
    program_->areas().document()->set_kept(map);
    program_->areas().map()->set_map(map);
    QVERIFY(program_->comes_to_rest());
    check(loop().repeat(QStringLiteral("switching tabs"), 60, [&](int i) {
        if (i % 6 == 0) program_->window().show_tab(static_cast<Tab>(i / 6 % 3));
    }));
    program_->window().show_tab(Tab::Document);
    check(loop().repeat(QStringLiteral("resizing the window"), 120, [&](int i) {
        const int more = i < 60 ? i : 120 - i;
        program_->window().resize(1100 + 8 * more, 700 + 4 * more);
    }));
    for (const bool dark : {true, false})
        check(loop().watch(
            dark ? QStringLiteral("dark colours") : QStringLiteral("light colours"),
            [&] { QApplication::setPalette(dark ? test::dark_palette() : test::light_palette()); }, 500));
    check(loop().watch(
        QStringLiteral("larger text"), [&] { program_->trigger(ActionId::LargerText); }, 500));
    program_->trigger(ActionId::NormalText);
}

} // namespace palimpsest::tests

int main(int argc, char** argv)
{
    palimpsest::tests::WatchedApplication application(argc, argv);
    QTEST_SET_MAIN_SOURCE_PATH
    palimpsest::tests::SmoothnessTest test;
    return QTest::qExec(&test, argc, argv);
}

#include "smoothness_test.moc"
