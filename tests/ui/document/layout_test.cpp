// The document layout without a widget: which blocks fill the viewport, how it scrolls, and where tokens are.
#include <QTest>

#include "tests/ui/document/synthetic_text.h"
#include "tests/ui/support/patience.h"
#include "ui/document/document_layout.h"

namespace palimpsest::ui {
namespace {

using tests::SyntheticText;

constexpr uint64_t text_tokens = 60'000; // beyond the paragraph without line ends and the second chapter

// A layout of a generated text whose pages are awaited.
class Laid {
public:
    explicit Laid(uint64_t tokens = text_tokens, QSize viewport = {700, 500})
        : source_(SyntheticText{tokens}.source())
    {
        layout.set_column(TextColumn(QFont(), viewport));
        layout.set_source(source_.get());
    }

    bool arrives()
    {
        return test::eventually([&] {
            layout.lay_out();
            return layout.is_complete();
        });
    }

    DocumentLayout layout;

private:
    std::shared_ptr<TextSource> source_;
};

// Returns the visible tokens of at least `width` pixels that are inside a line: a line end has no width, and the
// space before the first word of a line is at the end of the line above.
std::vector<uint64_t> wide_tokens(const DocumentLayout& layout, int width)
{
    std::vector<uint64_t> wide;
    const StreamRange seen = layout.visible_range();
    for (uint64_t token = seen.first; token < seen.last; ++token)
        if (layout.rect_of(token).width() >= width && layout.line_end(token) != token) wide.push_back(token);
    return wide;
}

// Returns what is wrong with the visible blocks; empty if they follow one another without gap and fill the
// viewport.
QString fault_of(const DocumentLayout& layout, uint64_t tokens)
{
    const auto& visible = layout.visible();
    if (visible.empty()) return QStringLiteral("nothing is visible");
    for (size_t i = 0; i + 1 < visible.size(); ++i) {
        if (visible[i]->block.range.last != visible[i + 1]->block.range.first)
            return QStringLiteral("block %1 does not begin where the one before ends").arg(i + 1);
        if (std::abs(visible[i]->bottom() - visible[i + 1]->y) > 0.01)
            return QStringLiteral("block %1 does not touch the one before").arg(i + 1);
    }
    const qreal margin = layout.column().line_height() / 2;
    const bool at_start = visible.front()->block.range.first == 0;
    const bool at_end = visible.back()->block.range.last == tokens;
    if (visible.front()->y > (at_start ? margin + 0.5 : 0.0)) return QStringLiteral("a gap above");
    if (visible.back()->bottom() < layout.column().height() - (at_end ? margin + 0.5 : 0.0))
        return QStringLiteral("a gap below");
    return {};
}

} // namespace

class DocumentLayoutTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void visible_blocks_fill_the_viewport_at_every_place();
    void a_text_shorter_than_the_viewport_stays_at_the_top();
    void without_a_source_nothing_is_visible();
    void text_is_missing_until_its_page_has_arrived();
    void scrolling_there_and_back_returns_to_the_same_place();
    void a_token_that_is_gone_to_is_at_the_top();
    void a_token_out_of_view_appears_at_the_nearer_edge();
    void the_token_at_the_middle_of_a_token_is_itself();
    void the_boundary_beside_an_edge_of_a_token_is_that_edge();
    void home_and_end_stay_in_the_line();
    void the_text_of_visible_tokens_is_that_of_the_stream();
};

void DocumentLayoutTest::visible_blocks_fill_the_viewport_at_every_place()
{
    Laid laid;
    for (const uint64_t token : {0ul, 1ul, 5ul, 19'990ul, 24'000ul, 28'999ul, 49'999ul, 50'001ul, 59'999ul}) {
        laid.layout.go_to(token);
        QVERIFY(laid.arrives());
        QCOMPARE(fault_of(laid.layout, text_tokens), QString());
        QVERIFY(laid.layout.item_of(token));
    }
    for (int step = 0; step < 60; ++step) {
        laid.layout.scroll_by(step % 3 == 0 ? -333.3 : 97.7);
        QVERIFY(laid.arrives());
        QCOMPARE(fault_of(laid.layout, text_tokens), QString());
    }
}

void DocumentLayoutTest::a_text_shorter_than_the_viewport_stays_at_the_top()
{
    Laid laid(20);
    laid.layout.go_to(19);
    QVERIFY(laid.arrives());
    QCOMPARE(laid.layout.visible_range(), (StreamRange{0, 20}));
    QVERIFY(laid.layout.visible().front()->y <= laid.layout.column().line_height() / 2 + 0.5);
    QVERIFY(laid.layout.visible().back()->bottom() < laid.layout.column().height());
}

void DocumentLayoutTest::without_a_source_nothing_is_visible()
{
    DocumentLayout layout;
    layout.set_column(TextColumn(QFont(), {700, 500}));
    layout.lay_out();
    QVERIFY(layout.is_complete());
    QVERIFY(layout.visible().empty());
    QCOMPARE(layout.visible_range(), StreamRange());
    QVERIFY(!layout.item_at(10));
    QVERIFY(!layout.boundary_at({10, 10}));
    QVERIFY(layout.rect_of(0).isEmpty());
}

void DocumentLayoutTest::text_is_missing_until_its_page_has_arrived()
{
    Laid laid;
    laid.layout.go_to(30'000);
    laid.layout.lay_out(); // requests the page; no event is processed, so it cannot have arrived
    QVERIFY(!laid.layout.is_complete());
    QCOMPARE(laid.layout.missing_below(), std::optional<qreal>(0));
    QVERIFY(laid.arrives());
    QVERIFY(!laid.layout.missing_above() && !laid.layout.missing_below());
}

void DocumentLayoutTest::scrolling_there_and_back_returns_to_the_same_place()
{
    Laid laid;
    laid.layout.go_to(24'000); // in the long paragraph
    QVERIFY(laid.arrives());
    const QRect before = laid.layout.rect_of(24'000);
    QVERIFY(!before.isEmpty());
    for (const qreal pixels : {40.0, -40.0}) {
        laid.layout.scroll_by(pixels);
        QVERIFY(laid.arrives());
        laid.layout.snap_to_first_line(); // names another line of the same place
    }
    QCOMPARE(laid.layout.rect_of(24'000), before);
    laid.layout.scroll_by(40);
    QVERIFY(laid.arrives());
    QCOMPARE(laid.layout.rect_of(24'000), before.translated(0, -40));
}

void DocumentLayoutTest::a_token_that_is_gone_to_is_at_the_top()
{
    Laid laid;
    for (const uint64_t token : {1ul, 700ul, 24'000ul, 50'001ul}) {
        laid.layout.go_to(token);
        QVERIFY(laid.arrives());
        const QRect at = laid.layout.rect_of(token);
        QVERIFY2(at.top() >= 0 && at.bottom() < 4 * laid.layout.column().line_height(),
                 qPrintable(QString::number(token)));
        QCOMPARE(laid.layout.distance_to(token), 0.0);
    }
}

void DocumentLayoutTest::a_token_out_of_view_appears_at_the_nearer_edge()
{
    Laid laid;
    laid.layout.go_to(24'000);
    QVERIFY(laid.arrives());
    const StreamRange seen = laid.layout.visible_range();
    laid.layout.go_near(seen.last + 200);
    QVERIFY(laid.arrives());
    QVERIFY(laid.layout.rect_of(seen.last + 200).top() > laid.layout.column().height() / 2);
    laid.layout.go_near(seen.first - 200);
    QVERIFY(laid.arrives());
    QVERIFY(laid.layout.rect_of(seen.first - 200).bottom() < laid.layout.column().height() / 2);
}

void DocumentLayoutTest::the_token_at_the_middle_of_a_token_is_itself()
{
    Laid laid;
    laid.layout.go_to(19'950); // short lines, then the long paragraph
    QVERIFY(laid.arrives());
    const std::vector<uint64_t> words = wide_tokens(laid.layout, 4);
    QVERIFY(words.size() > 50);
    for (const uint64_t token : words)
        QCOMPARE(laid.layout.token_at(laid.layout.rect_of(token).center()), std::optional(token));
    QVERIFY(!laid.layout.token_at({1, 100})); // in the gutter
}

void DocumentLayoutTest::the_boundary_beside_an_edge_of_a_token_is_that_edge()
{
    Laid laid;
    laid.layout.go_to(24'000);
    QVERIFY(laid.arrives());
    const std::vector<uint64_t> words = wide_tokens(laid.layout, 8);
    QVERIFY(words.size() > 50);
    for (const uint64_t token : words) {
        const QRectF at = laid.layout.rect_of(token);
        QCOMPARE(laid.layout.boundary_at({at.left() + 2.0, at.center().y()}), std::optional(token));
        QCOMPARE(laid.layout.boundary_at({at.right() - 2.0, at.center().y()}), std::optional(token + 1));
    }
}

void DocumentLayoutTest::home_and_end_stay_in_the_line()
{
    Laid laid;
    laid.layout.go_to(24'000);
    QVERIFY(laid.arrives());
    const StreamRange seen = laid.layout.visible_range();
    int lines = 0;
    for (uint64_t token = seen.first; token < seen.last;) {
        const auto first = laid.layout.line_start(token), last = laid.layout.line_end(token);
        QVERIFY(first && last && *first <= token && token <= *last);
        QCOMPARE(laid.layout.line_start(*last), first);
        // The first token may begin with the space that ends the line above.
        const int y = laid.layout.rect_of(*last).center().y();
        for (uint64_t inner = *first + 1; inner < *last; ++inner)
            QVERIFY(std::abs(laid.layout.rect_of(inner).center().y() - y) <= 1);
        ++lines;
        token = *last + 1;
    }
    QVERIFY(lines > 10);
}

void DocumentLayoutTest::the_text_of_visible_tokens_is_that_of_the_stream()
{
    const SyntheticText text{text_tokens};
    Laid laid;
    laid.layout.go_to(24'000);
    QVERIFY(laid.arrives());
    const StreamRange seen = laid.layout.visible_range();
    QString expected;
    for (uint64_t token = seen.first; token < seen.last; ++token) {
        QCOMPARE(laid.layout.token_text(token), QString::fromStdString(text.text(token)));
        if (expected.size() < 100) expected += laid.layout.token_text(token);
    }
    QCOMPARE(laid.layout.beginning_of({0, text_tokens}, 100), expected);
    QVERIFY(laid.layout.visible_text().contains(expected));
    QVERIFY(laid.layout.paragraph(seen.first).contains(laid.layout.token_text(seen.first)));
}

} // namespace palimpsest::ui

QTEST_MAIN(palimpsest::ui::DocumentLayoutTest)
#include "layout_test.moc"
