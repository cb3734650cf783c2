// The library: its models, the search in names and texts, and removals that can be undone.
#include <QAbstractItemModelTester>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QMenu>
#include <QMessageBox>
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
#include "storage/passage_index.h"
#include "tests/ui/support/looks.h"
#include "tests/ui/support/patience.h"
#include "ui/library/library_view.h"
#include "ui/library/search_model.h"
#include "ui/library/snippet.h"

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

    // A token has four bytes. `section`: the title of the only one, from the beginning.
    int64_t add_document(const std::string& title, const std::string& text, int64_t hash,
                         const std::string& section = {})
    {
        storage::Import import(*db, title, "/books/" + title, "tokenizer");
        import.add_text(text);
        std::vector<engine::EncodedToken> tokens;
        for (size_t end = 4; end <= text.size(); end += 4)
            tokens.push_back({.id = 1, .end = end});
        import.add_tokens(tokens);
        if (!section.empty()) import.add_section({section, 0, 0});
        return import.finish(
            {.title = title, .source_bytes = static_cast<int64_t>(text.size()), .source_hash = hash});
    }

    int64_t add_session(const std::string& name, std::optional<int64_t> document, const std::string& said = {})
    {
        storage::Conversations conversations(*db);
        const int64_t id =
            conversations.create({.name = name, .model = "m", .model_name = "small", .options = "{}"});
        if (document) add_to_session(id, *document);
        if (!said.empty()) {
            const int64_t message = conversations.add_message(id, {.text = said, .ids = {1, 2}});
            conversations.append(id, storage::StreamMessage{.id = message});
        }
        return id;
    }

    void add_to_session(int64_t session, int64_t document)
    {
        storage::Conversations(*db).append(
            session, storage::StreamDocument{.id = document, .tokens = storage::Library(*db).get(document).tokens});
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

// As many words as a passage has, with these among them.
std::string paragraph(const std::string& words)
{
    std::string text = words;
    while (text.size() < 400)
        text += " and the sea";
    text.resize(text.size() / 4 * 4 - 2, '.');
    return text + "\n\n";
}

QLineEdit& field_of(const LibraryView& view)
{
    return *view.findChild<QLineEdit*>();
}

QListView& hits_of(const LibraryView& view)
{
    return *view.findChild<QListView*>();
}

SearchHit hit_at(const LibraryView& view, int row)
{
    const auto* model = qobject_cast<SearchModel*>(hits_of(view).model());
    return model->hit(model->index(row));
}

// What the library says above the hits once it has searched everything; empty until then.
QString result_of(const LibraryView& view)
{
    for (const QLabel* label : view.findChildren<QLabel*>())
        if (label->isVisible() && (label->text().startsWith("Found:") || label->text().startsWith("Nothing was")))
            return label->text();
    return {};
}

// A word in brackets, as a mark of the snippet.
QString bracketed(const Snippet& snippet)
{
    QString text = snippet.text;
    for (auto mark = snippet.marks.rbegin(); mark != snippet.marks.rend(); ++mark) {
        text.insert(mark->first + mark->count, u']');
        text.insert(mark->first, u'[');
    }
    return text;
}

// The snippet of a text in which brackets enclose what was found.
QString snippet_of_marked(const QString& marked)
{
    std::string text;
    std::vector<engine::TextRange> found;
    for (const char c : marked.toStdString()) {
        if (c == '[')
            found.push_back({text.size(), text.size()});
        else if (c == ']')
            found.back().end = text.size();
        else
            text += c;
    }
    return bracketed(snippet_of(text, found));
}

} // namespace

class LibraryUiTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void a_snippet_is_one_line_with_the_found_words_marked()
    {
        QCOMPARE(snippet_of_marked("The [keeper]\n\nsaw\ta\u00ADship."),
                 QStringLiteral("The [keeper] saw a ship."));
        QCOMPARE(snippet_of_marked("[Über 灯台]\nand 😀 [the  sea]"), QStringLiteral("[Über 灯台] and 😀 [the sea]"));
        QCOMPARE(snippet_of_marked("  \n "), QString());
        QCOMPARE(snippet_of_marked("no word"), QStringLiteral("no word"));
    }

    void a_snippet_of_a_long_text_begins_shortly_before_the_most_words()
    {
        const QString filler = QStringLiteral("somewhere else ").repeated(40);
        const QString snippet = snippet_of_marked(filler + "a [storm] " + filler + "the [keeper] in the [storm] " +
                                                  filler + "a [storm] and a [storm]");
        QVERIFY2(snippet.startsWith(QStringLiteral("…")) && snippet.endsWith(QStringLiteral("…")),
                 qPrintable(snippet));
        QVERIFY2(snippet.contains(QStringLiteral("the [keeper] in the [storm] some")), qPrintable(snippet));
        QVERIFY(snippet.indexOf(u'[') < 30);
        QVERIFY(snippet.size() < Snippet::max_characters + 10);
        const QString unbroken =
            snippet_of_marked(QStringLiteral("😀").repeated(500) + "[x]" + QStringLiteral("😀").repeated(500));
        QVERIFY(unbroken.contains(QStringLiteral("😀[x]😀")));
        QVERIFY(unbroken.isValidUtf16());
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

    void a_session_is_shown_below_each_document_that_it_has_read()
    {
        QTemporaryDir folder;
        Shelf shelf(folder);
        const int64_t first = shelf.add_document("Ashford", std::string(400, 'a'), 7);
        const int64_t second = shelf.add_document("Brine", std::string(300, 'b'), 8);
        storage::Library(*shelf.db).keep(second);
        const int64_t one = shelf.add_session("one", first);
        shelf.add_to_session(one, second);
        shelf.add_to_session(one, second);
        LibraryView view({.database = shelf.file});
        EVENTUALLY_EQUAL(view.model().rowCount(), 2);
        QStringList keys;
        for (const int row : {0, 1}) {
            const QModelIndex document = view.model().index(row, 0);
            QCOMPARE(view.model().rowCount(document), 1);
            QVERIFY(!document.data(LibraryModel::DetailRole).toString().contains("not read"));
            const QModelIndex session = view.model().index(0, 0, document);
            QCOMPARE(session.data(LibraryModel::SessionRole).toString(), QStringLiteral("one"));
            keys << session.data(LibraryModel::KeyRole).toString();
        }
        QVERIFY(keys[0] != keys[1]);
        QCOMPARE(view.model().all_sessions(), QStringList{"one"});
        QAbstractItemModelTester tester(&view.model(), QAbstractItemModelTester::FailureReportingMode::QtTest);
        view.set_open_session("one", true);
        for (const int row : {0, 1})
            QVERIFY(view.model().index(0, 0, view.model().index(row, 0)).data(LibraryModel::OpenRole).toBool());
    }

    void a_session_stays_selected_when_it_moves_to_another_document()
    {
        QTemporaryDir folder;
        Shelf shelf(folder);
        const int64_t first = shelf.add_document("Ashford", std::string(400, 'a'), 7);
        const int64_t other = shelf.add_document("Brine", std::string(300, 'b'), 8);
        shelf.add_session("other", other);
        const int64_t moves = shelf.add_session("moves", std::nullopt, "hello");
        LibraryView view({.database = shelf.file});
        EVENTUALLY(view.model().index_of("moves").isValid());
        view.choose("moves");
        QCOMPARE(view.current_session(), QStringLiteral("moves"));
        const auto rows_of = [&](int row) { return view.model().rowCount(view.model().index(row, 0)); };
        shelf.add_to_session(moves, first); // it had no document
        view.refresh();
        EVENTUALLY_EQUAL(view.model().index_of("moves").parent().data().toString(), QStringLiteral("Ashford"));
        QCOMPARE(view.current_session(), QStringLiteral("moves"));
        shelf.add_to_session(moves, other);
        view.refresh();
        EVENTUALLY(rows_of(0) + rows_of(1) == 3);
        QCOMPARE(view.current_session(), QStringLiteral("moves"));
    }

    void a_document_tells_what_could_not_be_read_of_it()
    {
        LibraryModel model;
        LibraryDocument document{
            .ids = {1}, .title = "Ashford", .source = "/books/<b>.txt", .tokens = 9, .sessions = {}};
        document.is_kept = true;
        document.notes = {palimpsest::Text("only the <i>main</i> text is read")};
        model.set_contents(contents({document}));
        const QModelIndex at = model.index(0, 0);
        QCOMPARE(at.data(Qt::ToolTipRole).toString(),
                 QStringLiteral("<qt>/books/&lt;b&gt;.txt<br>only the &lt;i&gt;main&lt;/i&gt; text is read</qt>"));
        QCOMPARE(at.data(Qt::AccessibleDescriptionRole).toString(),
                 QStringLiteral("only the <i>main</i> text is read"));
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
        view.focus_search();
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

    void typing_filters_names_at_once()
    {
        QTemporaryDir folder;
        Shelf shelf(folder);
        shelf.add_session("The Light of Ashford", std::nullopt);
        shelf.add_session("other", std::nullopt);
        LibraryView view({.database = shelf.file});
        view.show();
        EVENTUALLY(view.model().index_of("other").isValid());
        const auto* tree = view.findChild<QTreeView*>();
        const auto names = [&](const QString& typed) {
            field_of(view).setText(typed);
            const auto* shown = tree->model();
            return shown->rowCount() == 0 ? 0 : shown->rowCount(shown->index(0, 0));
        };
        QCOMPARE(names("other"), 1);
        QCOMPARE(names("ashford LIGHT"), 1); // all words, in any order
        QCOMPARE(names("\"light of"), 1);
        QCOMPARE(names("ashford other"), 0);
        QVERIFY(!tree->isVisible()); // no empty list above the texts that are found
        QCOMPARE(names(".*"), 0);
        QCOMPARE(names(""), 2);
        QVERIFY(tree->isVisible());
    }

    void messages_and_passages_that_have_all_words_are_listed()
    {
        QTemporaryDir folder;
        Shelf shelf(folder);
        const std::string text = paragraph("The herring had been poor") + paragraph("Then came the Constant Anne") +
                                 paragraph("Anne was constant in the storm, and Constant Anne a ship");
        const int64_t document = shelf.add_document("Ashford", text, 7, "The  Ship\n");
        const int64_t reading = shelf.add_session("reading", document);
        shelf.add_session("other", std::nullopt, "Who was on the constant anne?");
        LibraryView view({.database = shelf.file});
        view.show();
        EVENTUALLY(view.model().index_of("reading").isValid());
        field_of(view).setText("CONSTANT ann");
        EVENTUALLY_EQUAL(result_of(view), QStringLiteral("Found: 1 message(s), 2 passage(s)."));
        QCOMPARE(hits_of(view).model()->rowCount(), 3);
        const auto origin = [&](int row) {
            return hits_of(view).model()->index(row, 0).data(Qt::ToolTipRole).toString();
        };
        QCOMPARE(origin(0), QStringLiteral("said in other"));
        QCOMPARE(bracketed(hit_at(view, 0).snippet), QStringLiteral("Who was on the [constant] [anne]?"));
        QCOMPARE(origin(1), QStringLiteral("Ashford · The Ship"));
        const SearchHit best = hit_at(view, 1);
        QVERIFY(
            bracketed(best.snippet).startsWith("[Anne] was [constant] in the storm, and [Constant] [Anne] a ship"));
        QCOMPARE(best.session_id, reading);
        QCOMPARE(best.document, document);
        QCOMPARE(best.found.size(), size_t{4});
        QCOMPARE(text.substr(best.found[1].first, best.found[1].last - best.found[1].first),
                 std::string("constant"));
        field_of(view).setText("\"constant anne\"");
        EVENTUALLY_EQUAL(result_of(view), QStringLiteral("Found: 1 message(s), 2 passage(s)."));
        QVERIFY(bracketed(hit_at(view, 1).snippet).contains("[Constant Anne]"));
        field_of(view).setText("constant herring");
        EVENTUALLY_EQUAL(result_of(view),
                         QStringLiteral("Found: 3 passage(s). No passage has all of these words; these "
                                        "have some of them."));
        field_of(view).setText("walrus");
        EVENTUALLY_EQUAL(result_of(view), QStringLiteral("Nothing was found."));
        field_of(view).setText("walrus zebra");
        EVENTUALLY_EQUAL(field_of(view).text() + result_of(view), QStringLiteral("walrus zebraNothing was found."));
        field_of(view).clear();
        QVERIFY(!hits_of(view).isVisible());
    }

    void the_best_of_many_passages_are_listed_and_all_are_counted()
    {
        QTemporaryDir folder;
        Shelf shelf(folder);
        std::string text;
        for (int i = 0; i < 300; ++i)
            text += paragraph("The keeper");
        shelf.add_session("reading", shelf.add_document("Ashford", text, 7));
        LibraryView view({.database = shelf.file});
        view.show();
        field_of(view).setText("keeper");
        EVENTUALLY_EQUAL(result_of(view), QStringLiteral("Found: 200 of 300 passages."));
        QCOMPARE(hits_of(view).model()->rowCount(), static_cast<int>(LibraryReader::max_passages));
    }

    void of_several_copies_of_a_file_the_open_one_is_searched()
    {
        QTemporaryDir folder;
        Shelf shelf(folder);
        const std::string text = paragraph("The keeper");
        const int64_t first = shelf.add_document("Ashford", text, 7),
                      second = shelf.add_document("Ashford", text, 7);
        shelf.add_session("first", first);
        shelf.add_session("second", second);
        LibraryView view({.database = shelf.file});
        view.show();
        EVENTUALLY(view.model().index_of("second").isValid());
        for (const auto& [name, document] : {std::pair("first", first), std::pair("second", second)}) {
            view.set_open_session(QString::fromLatin1(name), false);
            field_of(view).setText("keeper");
            EVENTUALLY_EQUAL(result_of(view), QStringLiteral("Found: 1 passage(s)."));
            QCOMPARE(hit_at(view, 0).document, document);
            QCOMPARE(hit_at(view, 0).session, QString::fromLatin1(name));
            field_of(view).clear();
        }
    }

    void documents_of_the_library_are_shown_and_searched_without_a_session()
    {
        QTemporaryDir folder;
        Shelf shelf(folder);
        const int64_t kept = shelf.add_document("Ashford", paragraph("The keeper"), 7),
                      both = shelf.add_document("Harbour", paragraph("The pilot"), 8);
        shelf.add_document("Lost", paragraph("The keeper of nothing"), 9); // of no session, and not kept
        storage::Library(*shelf.db).keep(kept);
        storage::Library(*shelf.db).keep(both);
        shelf.add_session("first", both);
        LibraryView view({.database = shelf.file});
        view.show();
        EVENTUALLY_EQUAL(view.model().rowCount(), 2);
        const auto* tree = view.findChild<QTreeView*>();
        QCOMPARE(tree->model()->index(0, 0).data().toString(), QStringLiteral("Harbour"));
        const QModelIndex unread = tree->model()->index(1, 0);
        QCOMPARE(unread.data().toString(), QStringLiteral("Ashford"));
        QVERIFY(unread.data(LibraryModel::DetailRole).toString().contains(QStringLiteral("not read yet")));

        const QSignalSpy about(&view, &LibraryView::session_about_wanted);
        Q_EMIT const_cast<QTreeView*>(tree)->activated(unread);
        QCOMPARE(about.count(), 1);
        QCOMPARE(about[0][0].toLongLong(), kept);

        field_of(view).setText("keeper");
        EVENTUALLY_EQUAL(result_of(view), QStringLiteral("Found: 1 passage(s)."));
        QCOMPARE(hit_at(view, 0).document, kept);
        QCOMPARE(hit_at(view, 0).session, QString());
    }

    void a_document_without_a_session_is_deleted_only_after_a_question()
    {
        QTemporaryDir folder;
        Shelf shelf(folder);
        const int64_t kept = shelf.add_document("Ashford", paragraph("The keeper"), 7);
        storage::Library(*shelf.db).keep(kept);
        LibraryView view({.database = shelf.file});
        view.show();
        EVENTUALLY_EQUAL(view.model().rowCount(), 1);
        const QSignalSpy deleted(&view, &LibraryView::stop_keeping_wanted);
        const auto answer = [&](const QString& button) {
            QMenu menu;
            view.fill_menu(menu, view.model().index(0, 0));
            for (QAction* action : menu.actions())
                if (action->text() == QStringLiteral("D&elete…")) action->trigger();
            auto* question = view.findChild<QMessageBox*>();
            QVERIFY(question);
            QVERIFY(question->text().contains(QStringLiteral("Ashford")));
            for (QAbstractButton* there : question->buttons())
                if (there->text().remove(u'&') == button) there->click();
            EVENTUALLY(!view.findChild<QMessageBox*>());
        };
        answer(QStringLiteral("Cancel"));
        QCOMPARE(deleted.count(), 0);
        answer(QStringLiteral("Delete"));
        QCOMPARE(deleted.count(), 1);
        QCOMPARE(deleted[0][0].value<std::vector<int64_t>>(), std::vector{kept});
    }

    void keys_lead_from_the_field_to_the_hits_and_open_them()
    {
        QTemporaryDir folder;
        Shelf shelf(folder);
        shelf.add_session(
            "reading", shelf.add_document("Ashford", paragraph("A keeper, a keeper") + paragraph("A keeper"), 7));
        LibraryView view({.database = shelf.file});
        view.show();
        view.activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(&view, test::patience_ms));
        QSignalSpy opened(&view, &LibraryView::hit_activated);
        const auto passage = [&] { return opened.last()[0].value<SearchHit>().found.front().first; };
        view.focus_search();
        QTest::keyClicks(&field_of(view), "keeper");
        QTest::keyClick(&field_of(view), Qt::Key_Return); // searches at once
        QCOMPARE(opened.count(), 0);
        EVENTUALLY_EQUAL(result_of(view), QStringLiteral("Found: 2 passage(s)."));
        QTest::keyClick(&field_of(view), Qt::Key_Return);
        QCOMPARE(opened.count(), 1);
        QCOMPARE(passage(), hit_at(view, 0).found.front().first);
        QTest::keyClick(&field_of(view), Qt::Key_Down);
        QVERIFY(hits_of(view).hasFocus());
        QTest::keyClick(&hits_of(view), Qt::Key_Down);
        QTest::keyClick(&hits_of(view), Qt::Key_Return);
        QCOMPARE(opened.count(), 2);
        QCOMPARE(passage(), hit_at(view, 1).found.front().first);
        QTest::keyClick(&hits_of(view), Qt::Key_Up);
        QVERIFY(hits_of(view).hasFocus());
        QTest::keyClick(&hits_of(view), Qt::Key_Up);
        QVERIFY(field_of(view).hasFocus());
        field_of(view).setText("nowhere");
        EVENTUALLY_EQUAL(result_of(view), QStringLiteral("Nothing was found."));
        QTest::keyClick(&field_of(view), Qt::Key_Return);
        QCOMPARE(opened.count(), 2);
    }

    void one_click_opens_a_hit_once()
    {
        QTemporaryDir folder;
        Shelf shelf(folder);
        shelf.add_session("reading", shelf.add_document("Ashford", paragraph("A keeper"), 7));
        LibraryView view({.database = shelf.file});
        view.resize(300, 600);
        view.show();
        field_of(view).setText("keeper");
        EVENTUALLY_EQUAL(result_of(view), QStringLiteral("Found: 1 passage(s)."));
        QSignalSpy opened(&view, &LibraryView::hit_activated);
        QWidget* list = hits_of(view).viewport();
        QTest::mouseClick(list, Qt::LeftButton, {}, QPoint(20, 20));
        QCOMPARE(opened.count(), 1);
        QTest::mouseDClick(list, Qt::LeftButton, {}, QPoint(20, 20));
        QVERIFY(opened.count() <= 2);                                                // its first click
        QTest::mouseClick(list, Qt::LeftButton, {}, QPoint(20, list->height() - 5)); // below the hits
        QVERIFY(opened.count() <= 2);
    }

    void only_the_newest_search_is_shown()
    {
        QTemporaryDir folder;
        Shelf shelf(folder);
        shelf.add_session("reading",
                          shelf.add_document("Ashford", paragraph("A keeper") + paragraph("A storm"), 7));
        LibraryView view({.database = shelf.file});
        view.show();
        for (int round = 0; round < 20; ++round) {
            field_of(view).setText("keeper");
            QTest::keyClick(&field_of(view), Qt::Key_Return);
            field_of(view).setText("storm");
            QTest::keyClick(&field_of(view), Qt::Key_Return);
            EVENTUALLY_EQUAL(result_of(view), QStringLiteral("Found: 1 passage(s)."));
            QCOMPARE(hits_of(view).model()->rowCount(), 1);
            QVERIFY(bracketed(hit_at(view, 0).snippet).startsWith("A [storm]"));
        }
    }

    void no_input_makes_a_search_fail()
    {
        QTemporaryDir folder;
        Shelf shelf(folder);
        shelf.add_session("reading", shelf.add_document("Ashford", paragraph("A keeper near the storm"), 7),
                          "A keeper");
        LibraryView view({.database = shelf.file});
        QSignalSpy failed(&view, &LibraryView::failed);
        view.show();
        EVENTUALLY(view.model().index_of("reading").isValid());
        const QString hostile[] = {"NEAR(keeper storm, 5)",
                                   "keeper\"",
                                   "\"\"\"\"",
                                   "keeper AND OR NOT",
                                   "text:keeper",
                                   "(((((((((",
                                   "keeper*^+-:{}",
                                   "' OR 1=1; --",
                                   QString("keeper OR ").repeated(10'000),
                                   QString("\"").repeated(10'000),
                                   QString(30'000, u'x'),
                                   QStringLiteral("keeper") + QChar(0) + QStringLiteral("storm"),
                                   QString(2, QChar(1)) + "keeper",
                                   QStringLiteral("keeper ") + QChar(0xD83D),
                                   QStringLiteral("\\Q(?=.*"),
                                   QStringLiteral("灯台 守")};
        for (const QString& typed : hostile) {
            field_of(view).setText(typed);
            QTest::keyClick(&field_of(view), Qt::Key_Return);
            EVENTUALLY(!result_of(view).isEmpty());
            QCOMPARE(failed.count(), 0);
        }
        field_of(view).setText(hostile[8]); // still a search for the words
        EVENTUALLY_EQUAL(result_of(view), QStringLiteral("Found: 1 message(s), 1 passage(s)."));
    }

    void documents_that_are_not_indexed_are_named_and_can_be_indexed()
    {
        QTemporaryDir folder;
        Shelf shelf(folder);
        const int64_t document = shelf.add_document("Ashford", paragraph("The keeper"), 7);
        shelf.add_session("reading", document);
        shelf.add_session("again", shelf.add_document("Beaford", paragraph("A keeper"), 8));
        shelf.db->sql().exec("DELETE FROM indexed_documents WHERE document = " + std::to_string(document));
        LibraryView view({.database = shelf.file});
        view.show();
        field_of(view).setText("keeper");
        EVENTUALLY_EQUAL(result_of(view), QStringLiteral("Found: 1 passage(s)."));
        const auto says = [&](const QString& words) {
            const auto labels = view.findChildren<QLabel*>();
            return std::any_of(labels.begin(), labels.end(), [&](const QLabel* label) {
                return label->isVisible() && label->text().contains(words);
            });
        };
        QVERIFY(says("1 document(s) are not indexed yet"));
        QSignalSpy wanted(&view, &LibraryView::index_wanted);
        for (auto* button : view.findChildren<QPushButton*>())
            if (button->isVisible() && button->text() == "Index them") button->click();
        QCOMPARE(wanted.count(), 1);
        QVERIFY(storage::PassageIndex(*shelf.db).build(document));
        view.refresh(); // as when the engine has changed the library
        EVENTUALLY_EQUAL(result_of(view), QStringLiteral("Found: 2 passage(s)."));
        QVERIFY(!says("not indexed"));
    }

    void a_search_that_fails_is_not_shown_as_running()
    {
        QTemporaryDir folder;
        Shelf shelf(folder);
        shelf.add_session("reading", shelf.add_document("Ashford", paragraph("The keeper"), 7));
        LibraryView view({.database = shelf.file});
        view.show();
        EVENTUALLY(view.model().index_of("reading").isValid());
        shelf.db.reset();
        QFile file(shelf.file);
        QVERIFY(file.open(QIODevice::WriteOnly | QIODevice::Truncate));
        file.write(
            "no database any more, and long enough to be read as one: this cannot be searched at all.........");
        file.close();
        QSignalSpy failed(&view, &LibraryView::failed);
        field_of(view).setText("keeper");
        EVENTUALLY_EQUAL(failed.count(), 1);
        const auto labels = view.findChildren<QLabel*>();
        QVERIFY(std::any_of(labels.begin(), labels.end(), [](const QLabel* label) {
            return label->isVisible() && label->text() == "The texts could not be searched.";
        }));
    }

    void the_search_has_accessible_names()
    {
        QTemporaryDir folder;
        Shelf shelf(folder);
        shelf.add_session("reading", shelf.add_document("Ashford", paragraph("The keeper"), 7, "Light"));
        LibraryView view({.database = shelf.file});
        view.show();
        field_of(view).setText("keeper");
        EVENTUALLY_EQUAL(result_of(view), QStringLiteral("Found: 1 passage(s)."));
        QCOMPARE(test::nameless(view).join(u'\n'), QString());
        const QString said = hits_of(view).model()->index(0, 0).data(Qt::AccessibleTextRole).toString();
        QVERIFY2(said.startsWith("Ashford · Light: The keeper"), qPrintable(said));
        QCOMPARE(hits_of(view).accessibleDescription(), QStringLiteral("Found: 1 passage(s)."));
    }

    void the_search_model_passes_the_item_model_tester()
    {
        SearchModel model;
        QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        model.add({{.session = "s", .title = "t", .document = 1, .snippet = {"a snippet", {{2, 3}}}},
                   {.session = "s", .title = {}, .message = 4, .snippet = {"said", {{0, 4}}}}});
        QCOMPARE(model.rowCount(), 2);
        QVERIFY(model.index(1, 0).data(SearchModel::TitleRole).toString().contains("s"));
        model.clear();
        QCOMPARE(model.rowCount(), 0);
    }
};

QTEST_MAIN(LibraryUiTest)
#include "library_ui_test.moc"
