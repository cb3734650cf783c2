// The outline: its rows, its model and its list, with made-up documents and notes.
#include <QAbstractItemModelTester>
#include <QAccessible>
#include <QClipboard>
#include <QLabel>
#include <QPushButton>
#include <QScrollBar>
#include <QSignalSpy>
#include <QTest>
#include <random>

#include "tests/ui/support/looks.h"
#include "tests/ui/support/patience.h"
#include "tests/ui/support/sanitized.h"
#include "ui/outline/outline_page.h"
#include "ui/outline/outline_view.h"
#include "ui/outline/suggested_questions.h"

namespace palimpsest::ui {
namespace {

storage::Stretch stretch(uint64_t first, uint64_t end, int64_t section)
{
    return {.first_token = first, .end_token = end, .first_byte = 0, .end_byte = 0, .section = section};
}

storage::Note note_on(int64_t document, const storage::Stretch& about, const std::string& text,
                      storage::NoteOrigin origin = storage::NoteOrigin::Written)
{
    return {.document = document, .about = about, .origin = origin, .text = text};
}

DocumentPart document(int64_t id, const std::string& title, StreamRange range,
                      std::vector<std::pair<std::string, uint64_t>> sections,
                      std::vector<storage::Stretch> stretches)
{
    DocumentPart part{.info = {.id = id, .title = title}, .range = range, .sections = {}};
    for (auto& [name, first] : sections)
        part.sections.push_back({.title = std::move(name), .first_token = first, .first_byte = 0});
    part.stretches = std::make_shared<const std::vector<storage::Stretch>>(std::move(stretches));
    return part;
}

SessionFacts facts_with(std::vector<DocumentPart> documents)
{
    SessionFacts facts;
    for (const DocumentPart& part : documents)
        facts.tokens_in_input += part.range.last - part.range.first;
    facts.tokens_read = facts.tokens_in_input;
    facts.documents = std::move(documents);
    return facts;
}

std::shared_ptr<engine::RetentionMap> map_of(uint64_t tokens, std::vector<std::vector<uint32_t>> lists)
{
    auto map = std::make_shared<engine::RetentionMap>();
    map->layers = static_cast<int32_t>(lists.size());
    map->kv_heads = 1;
    map->tokens_seen = tokens;
    map->tokens = std::move(lists);
    return map;
}

// A document of `count` chapters with a note of 10 to 60 words on each.
SessionFacts long_book(int count)
{
    constexpr uint64_t chapter = 300;
    std::mt19937 random(11);
    std::vector<std::pair<std::string, uint64_t>> sections;
    std::vector<storage::Stretch> stretches;
    std::vector<storage::Note> notes;
    for (int i = 0; i < count; ++i) {
        const uint64_t begin = chapter * static_cast<uint64_t>(i);
        sections.emplace_back("Chapter " + std::to_string(i + 1), begin);
        stretches.push_back(stretch(begin, begin + chapter, i));
        std::string text = "The keeper";
        for (unsigned word = 0, words = 8 + random() % 50; word < words; ++word)
            text += random() % 2 ? " lit the lamp" : " again";
        notes.push_back(note_on(1, stretches.back(), text + '.',
                                i % 3 ? storage::NoteOrigin::Written : storage::NoteOrigin::Quoted));
    }
    SessionFacts facts = facts_with(
        {document(1, "Ashford", {10, 10 + chapter * static_cast<uint64_t>(count)}, sections, stretches)});
    facts.notes = std::move(notes);
    return facts;
}

int measured(const OutlineView& view)
{
    int rows = 0;
    for (int row = 0; row < view.heights().rows(); ++row)
        rows += view.heights().is_measured(row) ? 1 : 0;
    return rows;
}

int visible(const OutlineView& view)
{
    int rows = 0;
    for (int row = 0; row < view.heights().rows(); ++row)
        rows += view.visualRect(view.model()->index(row, 0)).intersects(view.viewport()->rect()) ? 1 : 0;
    return rows;
}

} // namespace

class OutlineTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init();
    void cleanup() { page_.reset(); }
    void short_sections_share_a_note_and_long_ones_have_several();
    void a_document_without_headings_has_a_row_for_each_stretch();
    void what_stands_before_the_first_section_has_its_own_notes_or_none();
    void a_document_without_passages_has_a_row_for_each_section();
    void rows_cover_their_document();
    void several_documents_have_their_titles();
    void facts_with_another_outline_are_told_from_those_with_the_same();
    void sections_show_their_pages_and_are_indented_by_their_level();
    void a_note_appears_in_its_row();
    void rows_say_how_much_is_held();
    void the_header_counts_what_can_be_noted();
    void only_visible_rows_are_laid_out();
    void what_is_seen_stays_when_notes_arrive();
    void scrolling_up_into_unmeasured_rows_does_not_jump();
    void the_keyboard_reaches_every_row();
    void enter_and_click_go_to_the_place();
    void rows_are_copied_as_text();
    void every_row_has_an_accessible_name();
    void questions_are_made_of_names_and_headings();
    void nouns_with_capital_letters_are_no_names();
    void without_a_document_the_page_says_what_it_is_for();

private:
    void show(const SessionFacts& facts);
    OutlineView& view() const { return *page_->view(); }
    OutlineModel& model() const { return page_->model(); }

    std::unique_ptr<OutlinePage> page_;
    std::unique_ptr<QAbstractItemModelTester> tester_;
};

void OutlineTest::init()
{
    QLocale::setDefault(QLocale(QLocale::English, QLocale::UnitedStates));
    page_ = std::make_unique<OutlinePage>();
    tester_ = std::make_unique<QAbstractItemModelTester>(&page_->model(),
                                                         QAbstractItemModelTester::FailureReportingMode::QtTest);
    page_->resize(600, 500);
    page_->show();
    page_->activateWindow();
    QVERIFY(QTest::qWaitForWindowActive(page_.get(), test::patience_ms));
}

void OutlineTest::show(const SessionFacts& facts)
{
    page_->show_session(std::make_shared<const SessionFacts>(facts));
    EVENTUALLY_EQUAL(view().heights().rows(), model().rowCount());
}

void OutlineTest::short_sections_share_a_note_and_long_ones_have_several()
{
    const auto rows = outline_rows(facts_with({document(
        4, "Book", {100, 7100}, {{"Contents", 0}, {"Preface", 50}, {"CHAPTER I", 400}, {"CHAPTER II", 6400}},
        {stretch(0, 400, 1), stretch(400, 2400, 2), stretch(2400, 4400, 2), stretch(4400, 6400, 2),
         stretch(6400, 7000, 3)})}));
    QCOMPARE(rows.size(), size_t{6});
    QCOMPARE(rows[0].title, "Contents");
    QVERIFY(!rows[0].stretch);
    QCOMPARE(rows[0].range, (StreamRange{100, 150}));
    QCOMPARE(rows[1].title, "Preface");
    QCOMPARE(rows[1].stretch, std::optional<uint64_t>{0});
    QCOMPARE(rows[1].range, (StreamRange{150, 500}));
    for (int part = 1; part <= 3; ++part) {
        const OutlineRow& row = rows[static_cast<size_t>(part) + 1];
        QCOMPARE(row.title, "CHAPTER I");
        QCOMPARE(row.part, part);
        QCOMPARE(row.parts, 3);
    }
    QCOMPARE(rows[3].range, (StreamRange{2500, 4500}));
    QCOMPARE(rows[5].part, 0);
    QCOMPARE(rows[5].range, (StreamRange{6500, 7100}));
}

void OutlineTest::a_document_without_headings_has_a_row_for_each_stretch()
{
    show(facts_with({document(4, "Letters", {0, 6000}, {},
                              {stretch(0, 2000, -1), stretch(2000, 4000, -1), stretch(4000, 6000, -1)})}));
    QCOMPARE(model().rowCount(), 3);
    QCOMPARE(model().index(1).data().toString(), "Letters, part 2 of 3");
    QCOMPARE(model().row(1).range, (StreamRange{2000, 4000}));
}

void OutlineTest::what_stands_before_the_first_section_has_its_own_notes_or_none()
{
    const std::vector<std::pair<std::string, uint64_t>> sections{{"One", 250}};
    auto rows = outline_rows(
        facts_with({document(4, "Book", {0, 600}, sections, {stretch(0, 250, -1), stretch(250, 600, 0)})}));
    QCOMPARE(rows.size(), size_t{2});
    QCOMPARE(rows[0].title, "Book");
    QCOMPARE(rows[0].range, (StreamRange{0, 250}));
    rows = outline_rows(facts_with({document(4, "Book", {0, 600}, sections, {stretch(0, 600, 0)})}));
    QCOMPARE(rows.size(), size_t{1});
    QCOMPARE(rows[0].title, "One");
    QCOMPARE(rows[0].range, (StreamRange{0, 600}));
}

void OutlineTest::a_document_without_passages_has_a_row_for_each_section()
{
    DocumentPart part = document(4, "Letters", {0, 600}, {{"One", 0}, {"Two", 300}}, {});
    part.stretches = nullptr;
    show(facts_with({part}));
    QCOMPARE(model().rowCount(), 2);
    QCOMPARE(model().index(1).data().toString(), "Two");
    QVERIFY(page_->write_button()->isEnabled()); // it is indexed first
}

void OutlineTest::rows_cover_their_document()
{
    std::mt19937_64 random(5);
    for (int round = 0; round < 300; ++round) {
        std::vector<std::pair<std::string, uint64_t>> sections;
        uint64_t at = random() % 3 * 40;
        for (uint64_t i = 0, count = random() % 6; i < count; ++i, at += random() % 900)
            sections.emplace_back("Section", at);
        const uint64_t tokens = at + 1 + random() % 500;
        std::vector<storage::Stretch> stretches;
        int64_t section = -1;
        for (uint64_t begin = 0; begin < tokens;) {
            const uint64_t end = std::min(tokens, begin + 1 + random() % 400);
            while (section + 1 < std::ssize(sections) && sections[static_cast<size_t>(section) + 1].second < end &&
                   random() % 3)
                ++section;
            stretches.push_back(stretch(begin, end, section));
            begin = end;
        }
        uint64_t next = 7;
        for (const OutlineRow& row :
             outline_rows(facts_with({document(1, "Book", {7, 7 + tokens}, sections, stretches)}))) {
            QCOMPARE(row.range.first, next);
            QVERIFY(row.range.last >= row.range.first);
            next = row.range.last;
        }
        QCOMPARE(next, 7 + tokens);
    }
}

void OutlineTest::several_documents_have_their_titles()
{
    show(facts_with({document(4, "First", {0, 300}, {{"One", 0}}, {stretch(0, 300, 0)}),
                     document(9, "Second", {310, 700}, {{"Two", 0}}, {stretch(0, 390, 0)})}));
    QStringList titles;
    for (int row = 0; row < model().rowCount(); ++row)
        titles << model().index(row).data().toString();
    QCOMPARE(titles, (QStringList{"First", "One", "Second", "Two"}));
    model().add_note(note_on(9, stretch(0, 390, 0), "Of the second."));
    QCOMPARE(model().row(1).note, QString());
    QCOMPARE(model().row(3).note, "Of the second.");
}

void OutlineTest::facts_with_another_outline_are_told_from_those_with_the_same()
{
    SessionFacts facts = facts_with({document(4, "Book", {10, 610}, {{"One", 0}, {"Two", 300}}, {})});
    facts.documents[0].pages = {{.label = "1", .first_token = 0}};
    SessionFacts other = facts; // other facts than those of the outline do not count
    other.turns.emplace_back().text = "Who?";
    other.tokens_read = 20;
    QVERIFY(has_same_outline(facts, other));
    const auto differs = [&](auto change) {
        SessionFacts changed = facts;
        change(changed);
        return !has_same_outline(facts, changed);
    };
    QVERIFY(differs([](SessionFacts& f) { f.documents[0].sections[1].first_token = 200; }));
    QVERIFY(differs([](SessionFacts& f) { f.documents[0].sections[1].title = "Three"; }));
    QVERIFY(differs([](SessionFacts& f) { f.documents[0].sections[1].level = 2; }));
    QVERIFY(differs([](SessionFacts& f) { f.documents[0].pages[0].label = "i"; }));
    QVERIFY(differs([](SessionFacts& f) { f.documents[0].range.last = 620; }));
    QVERIFY(differs([](SessionFacts& f) { f.documents[0].stretches.reset(); }));
    QVERIFY(differs([](SessionFacts& f) { f.documents.push_back(f.documents[0]); }));
    QVERIFY(differs([](SessionFacts& f) { f.notes = {note_on(4, stretch(0, 300, 0), "Ann.")}; }));
    // A note that was added and is not stored is not shown any longer.
    facts.documents[0].stretches = std::make_shared<const std::vector<storage::Stretch>>(
        std::vector{stretch(0, 300, 0), stretch(300, 600, 1)});
    show(facts);
    page_->add_note(note_on(4, stretch(0, 300, 0), "Ann."));
    QCOMPARE(model().row(0).note, "Ann.");
    show(facts);
    QCOMPARE(model().row(0).note, QString());
}

void OutlineTest::sections_show_their_pages_and_are_indented_by_their_level()
{
    DocumentPart part = document(4, "Book", {10, 610}, {{"One", 0}, {"Within", 300}}, {});
    part.sections[1].level = 2;
    part.pages = {{.label = "xii", .first_token = 300}};
    show(facts_with({part}));
    QCOMPARE(model().index(0).data().toString(), "One");
    QCOMPARE(model().index(1).data().toString(), "Within · page xii");
    QCOMPARE(model().index(0).data(OutlineModel::LevelRole).toInt(), 1);
    QCOMPARE(model().index(1).data(OutlineModel::LevelRole).toInt(), 2);
    part.pages = {{.label = "11", .first_token = 0},
                  {.label = "12", .first_token = 300},
                  {.label = "13", .first_token = 400},
                  {.label = "14", .first_token = 599}};
    show(facts_with({part}));
    QCOMPARE(model().index(0).data().toString(), "One · page 11"); // it ends where page 12 begins
    QCOMPARE(model().index(1).data().toString(), "Within · pages 12–14");
}

void OutlineTest::a_note_appears_in_its_row()
{
    SessionFacts facts = facts_with(
        {document(4, "Book", {0, 600}, {{"One", 0}, {"Two", 300}}, {stretch(0, 300, 0), stretch(300, 600, 1)})});
    show(facts);
    QSignalSpy changes(&model(), &QAbstractItemModel::dataChanged),
        resets(&model(), &QAbstractItemModel::modelReset);
    view().setCurrentIndex(model().index(1));
    const int before = view().visualRect(model().index(0)).height();
    page_->add_note(note_on(4, stretch(0, 300, 0), "Ann lights\nthe lamp."));
    QCOMPARE(changes.count(), 1);
    QCOMPARE(model().index(0).data(OutlineModel::NoteRole).toString(), "Ann lights the lamp.");
    QVERIFY(view().visualRect(model().index(0)).height() > before);
    page_->add_note(note_on(4, stretch(300, 600, 1), "The lamp was lit.", storage::NoteOrigin::Quoted));
    QCOMPARE(model().index(1).data(OutlineModel::NoteRole).toString(), "“The lamp was lit.”");
    QCOMPARE(model().index(1).data(OutlineModel::StateRole).toString(), "quoted");
    page_->add_note(note_on(5, stretch(0, 300, 0), "Of another document."));
    QCOMPARE(changes.count(), 2);
    // The same from the session's facts changes nothing, and keeps the row that is chosen.
    facts.notes = {note_on(4, stretch(0, 300, 0), "Ann lights the lamp."),
                   note_on(4, stretch(300, 600, 1), "The lamp was lit.", storage::NoteOrigin::Quoted)};
    page_->show_session(std::make_shared<const SessionFacts>(facts));
    QCOMPARE(changes.count(), 2);
    QCOMPARE(resets.count(), 0);
    QCOMPARE(view().currentIndex().row(), 1);
}

void OutlineTest::rows_say_how_much_is_held()
{
    show(facts_with({document(4, "Book", {0, 30}, {{"One", 0}, {"Two", 10}, {"Three", 20}},
                              {stretch(0, 10, 0), stretch(10, 20, 1), stretch(20, 30, 2)})}));
    QCOMPARE(model().index(0).data(OutlineModel::StateRole).toString(), QString());
    page_->set_kept(map_of(15, {{0, 1, 2, 10, 11, 12, 13, 14}, {0, 14}}));
    QCOMPARE(model().index(0).data(OutlineModel::HeldRole).toDouble(), 4.0 / 20);
    QCOMPARE(model().index(0).data(OutlineModel::StateRole).toString(), "20 % held");
    QCOMPARE(model().index(1).data(OutlineModel::StateRole).toString(), "60 % held"); // of what was read of it
    QCOMPARE(model().index(2).data(OutlineModel::StateRole).toString(), "not read yet");
    QVERIFY(!model().index(2).data(OutlineModel::HeldRole).isValid());
}

void OutlineTest::the_header_counts_what_can_be_noted()
{
    SessionFacts facts = facts_with({document(4, "Book", {0, 30}, {{"One", 0}, {"Two", 10}, {"Three", 20}},
                                              {stretch(0, 10, 0), stretch(10, 20, 1), stretch(20, 30, 2)})});
    facts.tokens_read = 0;
    show(facts);
    QVERIFY(!page_->write_button()->isEnabled()); // nothing was read
    page_->set_kept(map_of(20, {{0}}));
    QVERIFY(page_->write_button()->isEnabled());
    page_->add_note(note_on(4, stretch(0, 10, 0), "Ann."));
    const auto says = [&](const QString& text) {
        for (const QLabel* label : page_->findChildren<QLabel*>())
            if (label->text().contains(text)) return true;
        return false;
    };
    QVERIFY(says("1 of 2 notes"));
    Frame frame;
    frame.activity = Activity::WritingNotes;
    page_->show_frame(frame);
    QVERIFY(!page_->write_button()->isEnabled());
    page_->show_frame({});
    page_->add_note(note_on(4, stretch(10, 20, 1), "Ben."));
    QVERIFY(says("2 note"));
    QVERIFY(!page_->write_button()->isEnabled());
    facts.tokens_read = facts.tokens_in_input; // the last tokens may wait for their chunk
    facts.notes = {note_on(4, stretch(0, 10, 0), "Ann."), note_on(4, stretch(10, 20, 1), "Ben.")};
    page_->show_session(std::make_shared<const SessionFacts>(facts));
    QVERIFY(says("2 of 3 notes"));
    facts.text_only = "The model is gone.";
    page_->show_session(std::make_shared<const SessionFacts>(facts));
    QVERIFY(!page_->write_button()->isEnabled());
}

void OutlineTest::only_visible_rows_are_laid_out()
{
    constexpr int count = 2000;
    show(long_book(count));
    constexpr int most_visible = 30, beside = 2; // beside: an estimate that was too low
    const auto paints_only_what_is_visible = [&] {
        const int before = view().delegate().layouts();
        view().viewport()->grab();
        QVERIFY(view().delegate().layouts() - before <= visible(view()));
    };
    QCoreApplication::processEvents();
    QVERIFY(visible(view()) > 2 && visible(view()) < most_visible);
    QVERIFY2(measured(view()) <= visible(view()) + beside, qPrintable(QString::number(measured(view()))));
    paints_only_what_is_visible();
    for (const int place : {count / 2, count - 1, count / 3}) {
        const int before = measured(view());
        view().verticalScrollBar()->setValue(view().heights().top(place));
        QVERIFY2(measured(view()) - before <= visible(view()) + beside,
                 qPrintable(QString::number(measured(view()) - before)));
        paints_only_what_is_visible();
    }
    page_->set_kept(map_of(1000, {{1, 2, 3}}));
    paints_only_what_is_visible();
    page_->resize(900, 500); // all heights are estimated anew
    QVERIFY(measured(view()) <= visible(view()) + beside);
    paints_only_what_is_visible();
}

void OutlineTest::what_is_seen_stays_when_notes_arrive()
{
    SessionFacts facts = long_book(100);
    const std::vector<storage::Note> notes = std::exchange(facts.notes, {});
    show(facts);
    view().verticalScrollBar()->setValue(view().heights().top(50) + 3);
    QCOMPARE(view().visualRect(model().index(50)).top(), -3);
    for (int row = 10; row < 50; ++row)
        page_->add_note(notes[static_cast<size_t>(row)]);
    QCOMPARE(view().visualRect(model().index(50)).top(), -3);
    page_->add_note(notes[51]);
    QCOMPARE(view().visualRect(model().index(50)).top(), -3);
    view().verticalScrollBar()->setValue(view().verticalScrollBar()->maximum());
    QCOMPARE(view().visualRect(model().index(99)).bottom(), view().viewport()->height() - 1);
    page_->add_note(notes[99]);
    QCOMPARE(view().visualRect(model().index(99)).bottom(), view().viewport()->height() - 1);
}

void OutlineTest::scrolling_up_into_unmeasured_rows_does_not_jump()
{
    show(long_book(200));
    view().verticalScrollBar()->setValue(view().heights().top(150));
    for (int row = view().heights().row_at(view().verticalScrollBar()->value()); row > 5;) {
        const int before = view().visualRect(model().index(row)).top();
        view().verticalScrollBar()->setValue(view().verticalScrollBar()->value() - 7);
        QCOMPARE(view().visualRect(model().index(row)).top(), before + 7);
        while (row > 0 && view().visualRect(model().index(row)).top() > 0)
            --row;
    }
}

void OutlineTest::the_keyboard_reaches_every_row()
{
    const int count = test::sized(240);
    show(long_book(count));
    view().setFocus();
    QTest::keyClick(&view(), Qt::Key_Home);
    const auto shows_current = [&] {
        const QRect rect = view().visualRect(view().currentIndex());
        return rect.top() >= 0 && (rect.bottom() < view().viewport()->height() || rect.top() == 0);
    };
    for (int row = 1; row < count; ++row) {
        QTest::keyClick(&view(), Qt::Key_Down);
        QCOMPARE(view().currentIndex().row(), row);
        QVERIFY2(shows_current(), qPrintable(QString::number(row)));
    }
    for (int row = count - 2; row >= count / 2; --row) {
        QTest::keyClick(&view(), Qt::Key_Up);
        QCOMPARE(view().currentIndex().row(), row);
        QVERIFY2(shows_current(), qPrintable(QString::number(row)));
    }
    QTest::keyClick(&view(), Qt::Key_Home);
    QCOMPARE(view().currentIndex().row(), 0);
    int presses = 0;
    for (int row = 0; row < count - 1; ++presses) {
        QTest::keyClick(&view(), Qt::Key_PageDown);
        QVERIFY(view().currentIndex().row() > row);
        QVERIFY(shows_current());
        row = view().currentIndex().row();
    }
    QVERIFY(presses < count / 2);
    QTest::keyClick(&view(), Qt::Key_PageUp);
    QVERIFY(view().currentIndex().row() < count - 1);
    QTest::keyClick(&view(), Qt::Key_End);
    QCOMPARE(view().currentIndex().row(), count - 1);
}

void OutlineTest::enter_and_click_go_to_the_place()
{
    show(long_book(20));
    QSignalSpy places(page_.get(), &OutlinePage::place_wanted);
    view().setFocus();
    view().setCurrentIndex(model().index(1));
    QTest::keyClick(&view(), Qt::Key_Return);
    QCOMPARE(places.count(), 1);
    QCOMPARE(places.takeFirst()[0].value<StreamRange>(), (StreamRange{310, 610}));
    QTest::mouseClick(view().viewport(), Qt::LeftButton, {}, view().visualRect(model().index(2)).center());
    QCOMPARE(places.count(), 1);
    QCOMPARE(places.takeFirst()[0].value<StreamRange>(), (StreamRange{610, 910}));
    QCOMPARE(view().currentIndex().row(), 2);
    view().scrollTo(model().index(0));
    QTest::mouseClick(view().viewport(), Qt::LeftButton, Qt::ShiftModifier,
                      view().visualRect(model().index(0)).center());
    QCOMPARE(places.count(), 0);
    QCOMPARE(view().selectionModel()->selectedRows().size(), 3);
}

void OutlineTest::rows_are_copied_as_text()
{
    show(facts_with({document(4, "Book", {0, 900}, {{"One", 0}, {"Two", 300}, {"Three", 600}},
                              {stretch(0, 300, 0), stretch(300, 600, 1), stretch(600, 900, 2)})}));
    page_->add_note(note_on(4, stretch(0, 300, 0), "Ann lights the lamp."));
    page_->add_note(note_on(4, stretch(600, 900, 2), "The lamp was lit.", storage::NoteOrigin::Quoted));
    view().setFocus();
    view().setCurrentIndex(model().index(0));
    QTest::keyClick(&view(), Qt::Key_Down, Qt::ShiftModifier);
    QTest::keySequence(&view(), QKeySequence::Copy);
    QCOMPARE(QGuiApplication::clipboard()->text(), "One\n    Ann lights the lamp.\n\nTwo");
    for (auto* button : page_->findChildren<QPushButton*>())
        if (button->text() == "Copy all") button->click();
    QCOMPARE(QGuiApplication::clipboard()->text(),
             "One\n    Ann lights the lamp.\n\nTwo\n\nThree\n    “The lamp was lit.”");
}

void OutlineTest::every_row_has_an_accessible_name()
{
    show(long_book(5));
    page_->set_kept(map_of(1510, {{20, 21}, {20}}));
    QAccessibleInterface* list = QAccessible::queryAccessibleInterface(&view());
    QVERIFY(list);
    QCOMPARE(list->role(), QAccessible::List);
    QCOMPARE(list->childCount(), 5);
    const QString first = list->child(0)->text(QAccessible::Name), second = list->child(1)->text(QAccessible::Name);
    QVERIFY2(first.startsWith("Chapter 1. 0.5 % held. quoted: “The keeper"), qPrintable(first));
    QVERIFY2(second.startsWith("Chapter 2. 0 % held. The keeper"), qPrintable(second));
    QCOMPARE(test::nameless(*page_).join(u'\n'), QString());
    QCOMPARE(test::clipped(*page_).join(u'\n'), QString());
}

void OutlineTest::questions_are_made_of_names_and_headings()
{
    const auto row = [](const QString& title, uint64_t tokens, const QString& note) {
        return OutlineRow{.title = title, .range = {0, tokens}, .note = note};
    };
    std::vector<OutlineRow> rows = {
        row("CHAPTER I", 900, "Gideon Thorne, who kept the light, rowed to the Ness in March."),
        row("Chapter II. The Great Gale", 500,
            "Gideon Thorne said that the gale took the Good Intent and its crew."),
        row("Chapter III. A Petition", 700,
            "The Good Intent was found on the beach. The town paid for a new boat."),
        row("Chapter IV. The First Tower", 400, "The Board of the harbour built a tower, and the town was glad."),
        row("Chapter V. No Note Yet", 4000, "")};
    QCOMPARE(suggested_questions(rows), (QStringList{"Who is Gideon Thorne?", "What is said about Good Intent?",
                                                     "What happens in “A Petition”?"}));
    for (OutlineRow& each : rows)
        each.note = each.note.isEmpty() ? QString() : QStringLiteral("A boat is built, and the town is glad.");
    QCOMPARE(suggested_questions(rows),
             (QStringList{"What happens in “A Petition”?", "What happens in “The Great Gale”?",
                          "What happens in “The First Tower”?"}));
    const QString note = QStringLiteral("A boat is built, and the town is glad.");
    QCOMPARE(suggested_questions(
                 std::vector{row("Civil Disobedience and More", 9, note), row("IV. I Meet the King", 8, note)}),
             (QStringList{"What happens in “Civil Disobedience and More”?", "What happens in “I Meet the King”?"}));
    for (OutlineRow& each : rows)
        each.note.clear();
    QCOMPARE(suggested_questions(rows), QStringList());
    rows.resize(1);
    rows[0].note = "A boat is built."; // "CHAPTER I" says nothing
    QCOMPARE(suggested_questions(rows), QStringList());
    // A name that stands in most notes is no use.
    rows.assign(12, row("One", 100, "The light of Ashford Light was lit by Ann Hale."));
    QCOMPARE(suggested_questions(rows), QStringList());
}

void OutlineTest::nouns_with_capital_letters_are_no_names()
{
    const std::vector<OutlineRow> rows(2, {.title = "Kapitel I",
                                           .range = {0, 10},
                                           .note = "Der alte Wärter sah am Morgen vom Turm das Boot im Hafen."});
    QCOMPARE(suggested_questions(rows), QStringList());
}

void OutlineTest::without_a_document_the_page_says_what_it_is_for()
{
    page_->show_session(nullptr);
    QVERIFY(!view().isVisible());
    QSignalSpy opens(page_.get(), &OutlinePage::open_wanted);
    QPushButton* open = nullptr;
    for (auto* button : page_->findChildren<QPushButton*>())
        if (button->isVisible()) open = button;
    QVERIFY(open);
    open->click();
    QCOMPARE(opens.count(), 1);
    QCOMPARE(test::clipped(*page_).join(u'\n'), QString());
}

} // namespace palimpsest::ui

QTEST_MAIN(palimpsest::ui::OutlineTest)
#include "outline_test.moc"
