// Searching in the document.
#include <QAction>
#include <QApplication>
#include <QLineEdit>
#include <QShortcut>
#include <QSignalSpy>
#include <QTest>
#include <QVBoxLayout>
#include <algorithm>

#include "kernels/base/error.h"
#include "tests/ui/document/shown_document.h"
#include "tests/ui/support/patience.h"
#include "tests/ui/support/thread_clock.h"
#include "ui/document/document_page.h"
#include "ui/document/find_bar.h"

namespace palimpsest::ui {
namespace {

using tests::SyntheticText;

} // namespace

class SearchTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void find_agrees_with_a_plain_search();
    void the_find_bar_counts_matches_and_moves_between_them();
    void the_find_bar_says_that_a_page_cannot_be_read();
    void escape_closes_the_find_bar_before_it_triggers_a_shortcut();
    void another_text_does_not_move_the_focus();
    void find_does_not_block_when_a_whole_text_is_selected();
    void matches_found_in_the_library_stay_framed();
};

void SearchTest::find_agrees_with_a_plain_search()
{
    const SyntheticText text{60'000};
    const auto source = text.source();
    std::string all;
    std::vector<size_t> begins;
    for (uint64_t token = 0; token < text.tokens; ++token) {
        begins.push_back(all.size());
        if (token > 0) all += text.text(token);
    }
    const auto token_of = [&](size_t byte) {
        return static_cast<uint64_t>(std::ranges::upper_bound(begins, byte) - begins.begin()) - 1;
    };
    std::string folded = all;
    std::ranges::replace(folded, '\n', ' ');
    uint64_t over_borders = 0;
    for (const std::string needle : {"keeper", "light storm", "Chapter 1", "€", "nowhere at all", "r", "salt of"}) {
        std::vector<StreamRange> expected;
        for (size_t at = folded.find(needle); at != std::string::npos; at = folded.find(needle, at + needle.size()))
            expected.push_back({token_of(at), token_of(at + needle.size() - 1) + 1});
        std::vector<StreamRange> found;
        bool finished = false;
        const auto connection = connect(source.get(), &TextSource::found, this, [&](const Finding& finding) {
            found.insert(found.end(), finding.matches.begin(), finding.matches.end());
            QCOMPARE(finding.count, static_cast<quint64>(found.size()));
            QCOMPARE(finding.unread, quint64{0});
            finished = finding.finished;
        });
        source->find(QString::fromStdString(needle == "keeper" ? "KEEPER" : needle));
        QVERIFY(test::eventually([&] { return finished; }));
        disconnect(connection);
        QCOMPARE(found.size(), expected.size());
        QVERIFY(std::ranges::equal(found, expected));
        for (const StreamRange& match : found)
            over_borders += match.first / TextSource::page_tokens != (match.last - 1) / TextSource::page_tokens;
    }
    QVERIFY(over_borders > 0);
}

void SearchTest::the_find_bar_counts_matches_and_moves_between_them()
{
    const SyntheticText text{300'000};
    DocumentPage page;
    page.resize(900, 700);
    page.set_source(text.source());
    page.show();
    page.activateWindow();
    QVERIFY(arrives(*page.view()));
    page.find_bar()->open(QStringLiteral("Chapter 3"));
    EVENTUALLY_EQUAL(page.find_bar()->count(), quint64{1});
    EVENTUALLY(!page.find_bar()->is_searching());
    EVENTUALLY_EQUAL(page.view()->caret(), uint64_t{150'001});
    page.find_bar()->open(QStringLiteral("chapter"));
    EVENTUALLY_EQUAL(page.find_bar()->count(), quint64{6});
    EVENTUALLY(!page.find_bar()->is_searching());
    QLineEdit* line = page.find_bar()->findChild<QLineEdit*>();
    const uint64_t at = page.view()->caret();
    QTest::keyClick(line, Qt::Key_Return);
    QCOMPARE(page.view()->caret(), (at + 50'000) % 300'000);
    QTest::keyClick(line, Qt::Key_Return, Qt::ShiftModifier);
    QCOMPARE(page.view()->caret(), at);
    QTest::keyClick(line, Qt::Key_Escape);
    QVERIFY(!page.find_bar()->isVisible());
    QVERIFY(page.find_bar()->matches().empty());
}

void SearchTest::the_find_bar_says_that_a_page_cannot_be_read()
{
    class Torn : public tests::SyntheticPages {
    public:
        using tests::SyntheticPages::SyntheticPages;
        TextPage read(uint64_t first, uint64_t count) override
        {
            if (first == 3 * TextSource::page_tokens)
                throw Error(ErrorKind::Failed, ErrorCode::DamagedDocument, Text("document {0}", 1),
                            Text("it is damaged"), Text("import it again"));
            return tests::SyntheticPages::read(first, count);
        }
    };
    const SyntheticText text{100'000}; // chapters at 1 and 50,001, outside the damaged page
    const auto source = std::make_shared<TextSource>(text.outline(), [=] { return std::make_unique<Torn>(text); });
    QSignalSpy failed(source.get(), &TextSource::failed);
    DocumentPage page;
    page.set_source(source);
    page.show();
    page.find_bar()->open(QStringLiteral("Chapter"));
    EVENTUALLY(page.find_bar()->count() > 0 && !page.find_bar()->is_searching());
    QCOMPARE(page.find_bar()->count(), quint64{2}); // the search continues after the damaged page
    QVERIFY2(page.find_bar()->words().contains(QStringLiteral("cannot be read")),
             qPrintable(page.find_bar()->words()));
    QCOMPARE(failed.count(), 1);
    page.find_bar()->open(QStringLiteral("nowhere at all"));
    EVENTUALLY(page.find_bar()->count() == 0 && !page.find_bar()->is_searching());
    QVERIFY(page.find_bar()->words().contains(QStringLiteral("cannot be read")));
}

void SearchTest::escape_closes_the_find_bar_before_it_triggers_a_shortcut()
{
    QWidget window;
    QVBoxLayout column(&window);
    auto* page = new DocumentPage;
    column.addWidget(page);
    int stopped = 0;
    QShortcut stop(Qt::Key_Escape, &window);
    connect(&stop, &QShortcut::activated, this, [&] { ++stopped; });
    page->set_source(SyntheticText{20'000}.source());
    window.show();
    window.activateWindow();
    QVERIFY(QTest::qWaitForWindowActive(&window, test::patience_ms));
    QVERIFY(arrives(*page->view()));
    page->find_bar()->open(QStringLiteral("keeper"));
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_Escape);
    QVERIFY(page->find_bar()->isHidden());
    QVERIFY(page->view()->hasFocus());
    QCOMPARE(stopped, 0);
    page->view()->select({3, 9});
    QTest::keyClick(page->view(), Qt::Key_Escape);
    QCOMPARE(page->view()->selection().first, page->view()->selection().last);
    QCOMPARE(stopped, 0);
    QTest::keyClick(page->view(), Qt::Key_Escape);
    QCOMPARE(stopped, 1);
}

void SearchTest::another_text_does_not_move_the_focus()
{
    QWidget window;
    QVBoxLayout column(&window);
    auto* page = new DocumentPage;
    auto* field = new QLineEdit;
    column.addWidget(page);
    column.addWidget(field);
    const SyntheticText text{20'000};
    page->set_source(text.source());
    window.show();
    window.activateWindow();
    QVERIFY(QTest::qWaitForWindowActive(&window, test::patience_ms));
    page->find_bar()->open(QStringLiteral("keeper"));
    field->setFocus();
    page->set_source(text.source());
    QVERIFY(page->find_bar()->isHidden());
    QVERIFY(field->hasFocus());
}

void SearchTest::find_does_not_block_when_a_whole_text_is_selected()
{
    const SyntheticText text;
    DocumentPage page;
    page.resize(900, 700);
    page.set_source(text.source());
    page.show();
    QVERIFY(arrives(*page.view()));
    const auto find_selected = [&] {
        const test::ThreadClock clock;
        for (QAction* action : page.actions())
            if (action->text() == QStringLiteral("Find…")) action->trigger();
        return clock.elapsed_ms();
    };
    const QLineEdit* line = page.find_bar()->findChild<QLineEdit*>();
    page.view()->select({0, text.tokens - 5000});
    page.view()->jump_to(text.tokens - 1); // no selected text is visible
    QVERIFY(arrives(*page.view()));
    const double passed = find_selected();
    QVERIFY2(passed < 50, qPrintable(QString::number(passed)));
    QVERIFY(line->text().isEmpty());
    page.view()->jump_to(0);
    QVERIFY(arrives(*page.view()));
    find_selected();
    QVERIFY(line->text().startsWith(QStringLiteral("Chapter 0")));
}

void SearchTest::matches_found_in_the_library_stay_framed()
{
    const SyntheticText text;
    DocumentPage page;
    page.resize(900, 700);
    page.set_source(text.source());
    page.show();
    page.find_bar()->open(QStringLiteral("Chapter"));
    page.show_matches({{5'000'000, 5'000'003}, {5'000'010, 5'000'012}});
    QVERIFY(page.find_bar()->isHidden()); // it has matches of its own
    QVERIFY(arrives(*page.view()));
    QVERIFY(page.view()->viewport()->rect().contains(page.view()->text_layout().rect_of(5'000'000)));
    QCOMPARE(page.view()->caret(), uint64_t{5'000'000});
    EVENTUALLY(!page.view()->is_flashing());
    const QImage framed = page.view()->viewport()->grab().toImage();
    page.view()->set_current_match(std::nullopt);
    const QImage first_unmarked = page.view()->viewport()->grab().toImage();
    QVERIFY(framed != first_unmarked);
    page.view()->set_matches({});
    QVERIFY(first_unmarked != page.view()->viewport()->grab().toImage());
}

} // namespace palimpsest::ui

QTEST_MAIN(palimpsest::ui::SearchTest)
#include "search_test.moc"
