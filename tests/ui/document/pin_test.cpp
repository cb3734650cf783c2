// Pinning passages of the document.
#include <QAction>
#include <QSignalSpy>
#include <QTest>

#include "tests/ui/document/shown_document.h"
#include "ui/document/document_page.h"

namespace palimpsest::ui {
namespace {

using tests::SyntheticText;

} // namespace

class PinTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void the_page_shows_the_price_of_a_pin();
};

void PinTest::the_page_shows_the_price_of_a_pin()
{
    const SyntheticText text{20'000};
    const auto map = ragged_map(text.tokens, 3, 2);
    DocumentPage page;
    page.resize(900, 700);
    page.set_source(text.source());
    page.set_kept(map);
    page.set_pin_terms({.budget = 2048, .bytes_per_token = 6144});
    page.show();
    QVERIFY(arrives(*page.view()));
    QVERIFY(!page.pin_action()->isEnabled());
    QVERIFY(page.price_text().isEmpty());
    const StreamRange range{100, 228};
    page.view()->select(range);
    double held = 0;
    for (uint64_t token = range.first; token < range.last; ++token)
        held += plain_count(*map, token);
    const PinPrice price = pin_price(range, {2048, 6144}, map.get());
    QCOMPARE(price.tokens, uint64_t{128});
    QCOMPARE(price.bytes, uint64_t{128 * 6144});
    QCOMPARE(price.budget_share, 128.0 / 2048);
    QCOMPARE(price.held_share, held / 6 / 128);
    QVERIFY(page.price_text().contains(QLocale().toString(100 * 0.0625, 'f', 1)));
    QVERIFY(page.price_text().contains(
        QLocale().toString(100 * price.held_share, 'f', price.held_share < 0.1 ? 1 : 0)));
    QSignalSpy wanted(&page, &DocumentPage::pin_wanted);
    page.pin_action()->trigger();
    QCOMPARE(wanted.size(), 1);
    QCOMPARE(wanted.at(0).at(0).value<StreamRange>(), range);
    QVERIFY(!wanted.at(0).at(1).toString().isEmpty());
    page.view()->select({0, 5000});
    QVERIFY(!page.pin_action()->isEnabled());

    page.set_pins({{.first = 100, .last = 228, .since = 0, .label = "a clause"}});
    QVERIFY(page.view()->describe(150).contains(QStringLiteral("pinned")));
    page.view()->set_caret(150);
    QSignalSpy unwanted(&page, &DocumentPage::unpin_wanted);
    for (QAction* action : page.actions())
        if (action->text() == QStringLiteral("Unpin")) action->trigger();
    page.set_source(text.source()); // pins stay until the caller sets others
    QVERIFY(page.view()->describe(150).contains(QStringLiteral("pinned")));
    QCOMPARE(unwanted.size(), 1);
    QCOMPARE(unwanted.at(0).at(0).value<StreamRange>(), range);
}

} // namespace palimpsest::ui

QTEST_MAIN(palimpsest::ui::PinTest)
#include "pin_test.moc"
