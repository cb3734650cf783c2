// The library: its models, the search in names and texts, and removals that can be undone.
#include <QAbstractItemModelTester>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QPushButton>
#include <QShortcut>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <QTreeView>

#include "storage/conversations.h"
#include "storage/database.h"
#include "storage/document_import.h"
#include "storage/library.h"
#include "tests/ui/support/patience.h"
#include "ui/library/library_view.h"
#include "ui/library/search_model.h"
#include "ui/library/text_search.h"

using namespace palimpsest;
using namespace palimpsest::ui;

namespace {

// A database with documents, sessions and messages, as the command stores them.
class Shelf {
public:
    explicit Shelf(const QTemporaryDir& folder) : file(folder.filePath(QStringLiteral("palimpsest.db")))
    {
        db.emplace(file.toStdString(), storage::Database::Access::Write);
    }

    int64_t add_document(const std::string& title, const std::string& text, int64_t hash)
    {
        storage::Import import(*db, title, "/books/" + title, "tokenizer");
        import.add_text(text);
        std::vector<engine::EncodedToken> tokens;
        for (size_t end = 4; end <= text.size(); end += 4)
            tokens.push_back({.id = 1, .end = end});
        import.add_tokens(tokens);
        return import.finish(
            {.title = title, .source_bytes = static_cast<int64_t>(text.size()), .source_hash = hash});
    }

    int64_t add_session(const std::string& name, std::optional<int64_t> document, const std::string& said = {})
    {
        storage::Conversations conversations(*db);
        const int64_t id =
            conversations.create({.name = name, .model = "m", .model_name = "small", .options = "{}"});
        if (document)
            conversations.append(id, storage::StreamDocument{
                                         .id = *document, .tokens = storage::Library(*db).get(*document).tokens});
        if (!said.empty()) {
            const int64_t message = conversations.add_message(id, {.text = said, .ids = {1, 2}});
            conversations.append(id, storage::StreamMessage{.id = message});
        }
        return id;
    }

    QString file;
    std::optional<storage::Database> db;
};

std::shared_ptr<const LibraryContents> contents(std::vector<LibraryDocument> documents)
{
    auto all = std::make_shared<LibraryContents>();
    all->documents = std::move(documents);
    return all;
}

LibrarySession session(int64_t id, const QString& name, uint64_t document_tokens = 0, uint64_t saved = 0)
{
    return {.id = id,
            .name = name,
            .model_name = {},
            .tokens = document_tokens,
            .tokens_saved = saved,
            .document_tokens = document_tokens,
            .changed = QDateTime::currentDateTime()};
}

std::vector<TextMatch> found(const QString& wanted, const QByteArray& text, qsizetype cut)
{
    std::vector<TextMatch> matches;
    TextSearch search(wanted);
    const auto visit = [&](const TextMatch& match) {
        matches.push_back(match);
        return true;
    };
    for (qsizetype at = 0; at < text.size(); at += cut) {
        const QByteArray block = text.mid(at, cut);
        search.feed({block.constData(), static_cast<size_t>(block.size())}, visit);
    }
    search.finish(visit);
    return matches;
}

} // namespace

class LibraryUiTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void a_match_is_found_wherever_blocks_are_cut()
    {
        const QString text =
            QStringLiteral("Über dem Kap brannte ein LEUCHTTURM 灯台\nund der Leuchtturm war alt. ");
        const QByteArray utf8 = text.repeated(5).toUtf8();
        const auto whole = found(QStringLiteral("leuchtturm"), utf8, utf8.size());
        QCOMPARE(whole.size(), size_t{10});
        for (const TextMatch& match : whole) {
            QCOMPARE(match.bytes, uint64_t{10});
            QCOMPARE(QString::fromUtf8(utf8.mid(static_cast<qsizetype>(match.byte), 10)).toLower(),
                     QStringLiteral("leuchtturm"));
            QCOMPARE(match.snippet.mid(match.first, match.count).toLower(), QStringLiteral("leuchtturm"));
            QVERIFY(!match.snippet.contains(u'\n'));
        }
        for (const qsizetype cut : {1, 2, 3, 7, 50, 101}) {
            const auto cut_up = found(QStringLiteral("leuchtturm"), utf8, cut);
            QCOMPARE(cut_up.size(), whole.size());
            for (size_t i = 0; i < whole.size(); ++i) {
                QCOMPARE(cut_up[i].byte, whole[i].byte);
                QCOMPARE(cut_up[i].snippet, whole[i].snippet);
            }
        }
    }

    void a_match_has_its_byte_range_in_the_text()
    {
        const QByteArray text = "\xEF\xBB\xBFÄ 灯台 and the light"; // the byte order mark is part of the text
        const auto tower = found(QStringLiteral("灯台"), text, text.size());
        QCOMPARE(tower.size(), size_t{1});
        QCOMPARE(text.mid(static_cast<qsizetype>(tower[0].byte), static_cast<qsizetype>(tower[0].bytes)),
                 QByteArray("灯台"));
    }

    void the_library_model_passes_the_item_model_tester()
    {
        LibraryModel model;
        QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        const auto two = contents({{{1}, "Ashford", "/a.md", 100, {session(1, "a"), session(2, "b", 100, 61)}},
                                   {{}, {}, {}, 0, {session(3, "c")}}});
        model.set_contents(two);
        QCOMPARE(model.rowCount(), 2);
        QCOMPARE(model.rowCount(model.index(0, 0)), 2);
        QCOMPARE(model.index_of("b").data(LibraryModel::UnfinishedRole).toBool(), true);
        QVERIFY(model.index_of("b").data(LibraryModel::DetailRole).toString().contains("61"));
        QCOMPARE(model.index_of("a").data(LibraryModel::UnfinishedRole).toBool(), false);
        model.set_open_session("b", true);
        // A session that is being read is not called unfinished.
        QCOMPARE(model.index_of("b").data(LibraryModel::UnfinishedRole).toBool(), false);
        model.set_hidden({3});
        QCOMPARE(model.rowCount(), 1);
        QVERIFY(model.all_sessions().contains("c")); // still listed, so that its name is not reused
        model.set_hidden({});
        QCOMPARE(model.rowCount(), 2);
        model.set_contents(contents({}));
        QVERIFY(model.is_empty());
    }

    void a_changed_name_does_not_reset_the_model()
    {
        LibraryModel model;
        model.set_contents(contents({{{1}, "Ashford", "/a.md", 100, {session(1, "a")}}}));
        QSignalSpy reset(&model, &QAbstractItemModel::modelReset),
            changed(&model, &QAbstractItemModel::dataChanged);
        model.set_contents(contents({{{1}, "Ashford", "/a.md", 100, {session(1, "renamed")}}}));
        QCOMPARE(reset.count(), 0);
        QVERIFY(changed.count() > 0);
        QVERIFY(model.index_of("renamed").isValid());
    }

    void editing_a_name_requests_a_rename()
    {
        LibraryModel model;
        model.set_contents(contents({{{}, {}, {}, 0, {session(1, "a")}}}));
        QSignalSpy wanted(&model, &LibraryModel::rename_wanted);
        QVERIFY(model.setData(model.index_of("a"), "  b ", Qt::EditRole));
        QCOMPARE(wanted.count(), 1);
        QCOMPARE(wanted[0][0].toString(), QStringLiteral("a"));
        QCOMPARE(wanted[0][1].toString(), QStringLiteral("b"));
        QVERIFY(!model.setData(model.index_of("a"), " ", Qt::EditRole));
        QVERIFY(!model.setData(model.index(0, 0), "x", Qt::EditRole)); // a document cannot be renamed
    }

    void contents_come_from_the_database()
    {
        QTemporaryDir folder;
        Shelf shelf(folder);
        const int64_t first = shelf.add_document("Ashford", std::string(400, 'a'), 7);
        const int64_t second = shelf.add_document("Ashford", std::string(400, 'a'), 7); // the same file again
        shelf.add_session("one", first);
        shelf.add_session("two", second);
        shelf.add_session("alone", std::nullopt, "hello");
        LibraryView view({.database = shelf.file});
        EVENTUALLY_EQUAL(view.model().rowCount(), 2);
        QCOMPARE(view.model().rowCount(view.model().index(0, 0)), 2); // shown as one document with both sessions
        QVERIFY(view.model().index_of("one").data(LibraryModel::UnfinishedRole).toBool()); // it has no checkpoint
        QVERIFY(view.model().index_of("alone").isValid());
        shelf.add_session("later", std::nullopt);
        view.refresh();
        EVENTUALLY(view.model().index_of("later").isValid());
    }

    void a_missing_database_is_shown_as_an_empty_library()
    {
        QTemporaryDir folder;
        LibraryView view({.database = folder.filePath("none/palimpsest.db")});
        QSignalSpy failed(&view, &LibraryView::failed);
        view.show();
        auto* open = view.findChild<QPushButton*>();
        EVENTUALLY(open && open->isVisible());
        QCOMPARE(failed.count(), 0);
    }

    void a_file_that_is_no_database_is_reported()
    {
        QTemporaryDir folder;
        const QString file = folder.filePath("palimpsest.db");
        QFile wrong(file);
        QVERIFY(wrong.open(QIODevice::WriteOnly));
        wrong.write("this is no database, whatever its name says, and it is long enough to be read as one");
        wrong.close();
        LibraryView view({.database = file});
        QSignalSpy failed(&view, &LibraryView::failed);
        EVENTUALLY_EQUAL(failed.count(), 1);
        QVERIFY(failed[0][0].value<Failure>().sentence.contains("palimpsest.db"));
    }

    void a_removal_can_be_undone_until_it_is_committed()
    {
        QTemporaryDir folder;
        Shelf shelf(folder);
        shelf.add_session("keep", std::nullopt);
        shelf.add_session("go", std::nullopt);
        LibraryView view({.database = shelf.file, .grace_ms = 60'000});
        QSignalSpy removed(&view, &LibraryView::remove_wanted);
        EVENTUALLY(view.model().index_of("go").isValid());
        view.remove("go");
        QVERIFY(!view.model().index_of("go").isValid());
        QVERIFY(view.model().index_of("keep").isValid());
        view.undo_removal();
        QVERIFY(view.model().index_of("go").isValid());
        QCOMPARE(removed.count(), 0);
        view.remove("go");
        view.commit_removals();
        QCOMPARE(removed.count(), 1);
        QVERIFY(!view.model().index_of("go").isValid()); // hidden, although the session is still stored
        QSignalSpy read_again(&view.model(), &QAbstractItemModel::dataChanged);
        view.refresh();
        EVENTUALLY(!read_again.isEmpty());
        QVERIFY(!view.model().index_of("go").isValid());
        view.removal_failed();
        QVERIFY(view.model().index_of("go").isValid());
    }

    void a_removal_is_committed_after_its_grace_period()
    {
        PendingRemovals removals(20);
        QSignalSpy removed(&removals, &PendingRemovals::remove_wanted);
        removals.add(1);
        removals.add(2);
        EVENTUALLY_EQUAL(removed.count(), 2);
        QCOMPARE(removals.undo(), 0);
    }

    void a_removal_does_not_affect_another_session_of_that_name()
    {
        QTemporaryDir folder;
        Shelf shelf(folder);
        const int64_t first = shelf.add_session("go", std::nullopt);
        LibraryView view({.database = shelf.file, .grace_ms = 60'000});
        QSignalSpy removed(&view, &LibraryView::remove_wanted);
        EVENTUALLY(view.model().index_of("go").isValid());
        view.remove("go");
        storage::Conversations conversations(*shelf.db);
        conversations.rename(first, "gone"); // as if another program did it
        shelf.add_session("go", std::nullopt);
        view.refresh();
        EVENTUALLY(view.model().index_of("go").isValid()); // the new session of that name is not hidden
        QVERIFY(!view.model().index_of("gone").isValid());
        view.commit_removals();
        QCOMPARE(removed.count(), 1);
        QCOMPARE(removed[0][0].toString(), QStringLiteral("gone"));
        conversations.remove(first);
        shelf.add_session("gone", std::nullopt);
        view.refresh();
        EVENTUALLY(view.model().index_of("gone").isValid());
    }

    void a_session_removed_by_another_program_is_not_removed_again()
    {
        QTemporaryDir folder;
        Shelf shelf(folder);
        const int64_t session = shelf.add_session("go", std::nullopt);
        shelf.add_session("keep", std::nullopt);
        LibraryView view({.database = shelf.file, .grace_ms = 60'000});
        QSignalSpy removed(&view, &LibraryView::remove_wanted);
        EVENTUALLY(view.model().index_of("go").isValid());
        view.remove("go");
        storage::Conversations(*shelf.db).remove(session);
        view.refresh();
        EVENTUALLY(!view.can_undo_removal());
        view.commit_removals();
        QCOMPARE(removed.count(), 0);
    }

    void escape_clears_the_search_before_it_triggers_a_shortcut()
    {
        QTemporaryDir folder;
        Shelf shelf(folder);
        LibraryView view({.database = shelf.file});
        int stopped = 0;
        QShortcut stop(Qt::Key_Escape, &view);
        connect(&stop, &QShortcut::activated, this, [&] { ++stopped; });
        view.show();
        view.activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(&view, test::patience_ms));
        view.focus_search();
        auto* field = view.findChild<QLineEdit*>();
        QTest::keyClicks(field, "keeper");
        QTest::keyClick(field, Qt::Key_Escape);
        QVERIFY(field->text().isEmpty());
        QCOMPARE(stopped, 0);
        QTest::keyClick(field, Qt::Key_Escape);
        QCOMPARE(stopped, 1);
    }

    void a_hit_names_its_session_and_which_answer_it_is_in()
    {
        QTemporaryDir folder;
        Shelf shelf(folder);
        const int64_t session = shelf.add_session("chat", std::nullopt);
        storage::Conversations conversations(*shelf.db);
        const int64_t question = conversations.add_message(session, {.text = "Who?", .ids = {1}});
        std::vector<int64_t> answers;
        for (const char* text : {"The keeper.", "A keeper, it says.", "Nobody."})
            answers.push_back(conversations.add_message(
                session, {.parent = question, .role = storage::Role::Assistant, .text = text, .ids = {1}}));
        LibraryView view({.database = shelf.file});
        view.show();
        EVENTUALLY(view.model().index_of("chat").isValid());
        QTest::keyClicks(view.findChild<QLineEdit*>(), "keeper");
        auto* hits = view.findChild<QListView*>();
        EVENTUALLY_EQUAL(hits->model()->rowCount(), 2);
        conversations.rename(session, "renamed");
        view.refresh();
        EVENTUALLY(view.model().index_of("renamed").isValid());
        QSignalSpy activated(&view, &LibraryView::hit_activated);
        for (int row = 0; row < 2; ++row) {
            Q_EMIT hits->activated(hits->model()->index(row, 0));
            const auto hit = activated.last()[0].value<SearchHit>();
            QCOMPARE(hit.session, QStringLiteral("renamed"));
            QCOMPARE(hit.session_id, session);
            QCOMPARE(hit.message, answers[static_cast<size_t>(row)]);
            QCOMPARE(hit.parent, question);
            QCOMPARE(hit.newer, 2 - row);
        }
    }

    void typing_filters_names_at_once_and_then_searches_texts()
    {
        QTemporaryDir folder;
        Shelf shelf(folder);
        std::string text;
        while (text.size() < 3'000'000)
            text += "The herring had been poor, and nobody wondered. ";
        text += "Then came the Constant Anne.";
        const int64_t document = shelf.add_document("Ashford", text, 7);
        shelf.add_session("reading", document);
        shelf.add_session("other", std::nullopt, "Who was on the constant anne?");
        LibraryView view({.database = shelf.file});
        view.show();
        EVENTUALLY(view.model().index_of("reading").isValid());
        auto* field = view.findChild<QLineEdit*>();
        auto* hits = view.findChild<QListView*>();
        auto* tree = view.findChild<QTreeView*>();
        QTest::keyClicks(field, "other");
        QCOMPARE(tree->model()->rowCount(), 1); // names are filtered at once
        field->clear();
        QTest::keyClicks(field, "CONSTANT ANNE");
        EVENTUALLY_EQUAL(hits->model()->rowCount(), 2);
        QSignalSpy activated(&view, &LibraryView::hit_activated);
        bool in_document = false, said = false;
        for (int row = 0; row < 2; ++row) {
            Q_EMIT hits->activated(hits->model()->index(row, 0));
            const auto hit = activated.last()[0].value<SearchHit>();
            in_document = in_document || (hit.document == document && hit.session == "reading" &&
                                          text.compare(hit.match.byte, 13, "Constant Anne") == 0);
            said = said || (hit.document == 0 && hit.session == "other");
        }
        QVERIFY(in_document && said);
        field->clear();
        QVERIFY(!hits->isVisible());
        QTest::keyClicks(field, "herring");
        EVENTUALLY_EQUAL(hits->model()->rowCount(), static_cast<int>(LibraryReader::most_hits_of_one));
        const auto labels = view.findChildren<QLabel*>();
        EVENTUALLY(std::any_of(labels.begin(), labels.end(), [](const QLabel* label) {
            return label->isVisible() && label->text().contains("first"); // "the first …" says that there are more
        }));
    }

    void the_search_model_passes_the_item_model_tester()
    {
        SearchModel model;
        QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        model.add({{.session = "s", .title = "t", .document = 1, .match = {5, 3, "a snippet", 2, 3}},
                   {.session = "s", .title = {}, .message = 4, .match = {9, 4, "said", 0, 4}}});
        QCOMPARE(model.rowCount(), 2);
        QVERIFY(model.index(1, 0).data(SearchModel::OriginRole).toString().contains("s"));
        model.clear();
        QCOMPARE(model.rowCount(), 0);
    }
};

QTEST_MAIN(LibraryUiTest)
#include "library_ui_test.moc"
