// The share of lists that keep a token is computed correctly, and its colours are readable.
#include <QTest>
#include <random>

#include "tests/ui/document/shown_document.h"
#include "ui/base/theme.h"

namespace palimpsest::ui {
namespace {

using tests::SyntheticText;

} // namespace

class ShadingTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void the_kept_share_equals_a_plain_count();
    void tokens_are_painted_in_their_shade();
    void text_is_readable_on_every_shade();
};

void ShadingTest::the_kept_share_equals_a_plain_count()
{
    const SyntheticText text{200'000};
    const auto map = ragged_map(text.tokens, 9, 5);
    DocumentView view;
    view.set_source(text.source());
    view.set_kept(map);
    std::mt19937_64 random(13);
    int some = 0;
    for (int i = 0; i < 1000; ++i) {
        // Every second token is taken from a list, because most random tokens are in none.
        const auto& list = map->tokens[random() % map->tokens.size()];
        const uint64_t token = i % 2 == 0 ? random() % text.tokens : list[random() % list.size()];
        const int held = plain_count(*map, token);
        some += held > 0;
        QCOMPARE(qRound(view.retention().share_of(token) * 45), held);
        QCOMPARE(static_cast<int>(holders(*map, token).size()), held);
        const StreamRange around{token - std::min<uint64_t>(token, 5), token + 5};
        double sum = 0;
        for (uint64_t at = around.first; at < around.last; ++at)
            sum += plain_count(*map, at);
        QVERIFY(std::abs(held_share(*map, around) * 45 * static_cast<double>(around.last - around.first) - sum) <
                1e-6);
    }
    QVERIFY(some > 500);
}

void ShadingTest::tokens_are_painted_in_their_shade()
{
    const SyntheticText text{100'000};
    auto map = std::make_shared<engine::RetentionMap>(*ragged_map(text.tokens, 4, 2));
    map->tokens_seen = 50'060; // tokens from this one on are not read yet
    for (auto& list : map->tokens)
        for (uint32_t token = 50'004; token < 50'060;
             token += 1 + static_cast<uint32_t>(&list - map->tokens.data()))
            list.insert(std::ranges::lower_bound(list, token), token);
    auto view = view_of(text.source());
    view->set_kept(map);
    view->set_shades([](double share) { return QColor::fromHsvF(0.5F, static_cast<float>(share), 1.0F); });
    view->jump_to(50'003);
    QVERIFY(arrives(*view));
    const QImage image = view->viewport()->grab().toImage();
    const ShadeTable shades([](double share) { return QColor::fromHsvF(0.5F, static_cast<float>(share), 1.0F); },
                            view->palette());
    int looked_at = 0;
    for (uint64_t token = 50'004; token < 50'100; ++token) {
        const QRect rect = view->text_layout().rect_of(token);
        if (rect.width() < 3) continue;
        const QColor there = image.pixelColor(rect.left() + rect.width() / 2, rect.top() - 1);
        const QColor wanted = token < 50'060 ? shades.of(view->retention().share_of(token)).background
                                             : view->palette().color(QPalette::Base);
        QCOMPARE(there.rgb(), wanted.rgb());
        ++looked_at;
    }
    QVERIFY(looked_at > 50);
}

void ShadingTest::text_is_readable_on_every_shade()
{
    QPalette dark;
    dark.setColor(QPalette::Base, QColor(30, 30, 32));
    dark.setColor(QPalette::Text, QColor(230, 230, 230));
    dark.setColor(QPalette::Highlight, QColor(90, 140, 220));
    for (const QPalette& palette : {QPalette(), dark})
        for (const ShadeColors& colors : {default_shades(palette), ShadeColors([](double s) {
                                              return QColor::fromHsvF(static_cast<float>(s) * 0.9F, 0.8F,
                                                                      static_cast<float>(s));
                                          })}) {
            const ShadeTable table(colors, palette);
            for (int i = 0; i <= 256; ++i) {
                const Shade& shade = table.of(i / 256.0);
                QVERIFY(contrast(shade.background, shade.ink) >= 4.5);
            }
            QCOMPARE(table.of(0).background, palette.color(QPalette::Base));
            QVERIFY(table.of(1e-9).background != table.of(0).background);
        }
}

} // namespace palimpsest::ui

QTEST_MAIN(palimpsest::ui::ShadingTest)
#include "shading_test.moc"
