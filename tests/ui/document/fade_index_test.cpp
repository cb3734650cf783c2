// Past states of a text: the index of eviction events, and the time bar that replays them.
#include <QLabel>
#include <QSlider>
#include <QTest>
#include <algorithm>
#include <atomic>
#include <random>

#include "kernels/base/error.h"
#include "tests/ui/document/shown_document.h"
#include "tests/ui/support/patience.h"
#include "ui/document/document_page.h"
#include "ui/document/time_bar.h"

namespace palimpsest::ui {
namespace {

using tests::SyntheticText;

std::vector<engine::EvictionEvent> random_events(uint64_t tokens, int layers, uint64_t chunks, uint32_t seed)
{
    std::mt19937_64 random(seed);
    std::vector<engine::EvictionEvent> events;
    for (uint64_t token = 0; token < tokens; ++token)
        for (int32_t layer = 0; layer < layers; ++layer)
            if (random() % 5 != 0)
                events.push_back({layer, static_cast<uint32_t>(token), static_cast<uint32_t>(random() % chunks)});
    std::ranges::shuffle(events, random);
    return events;
}

ChunkClock plain_clock(uint64_t tokens, int chunk)
{
    TextOutline outline{.tokens = tokens, .parts = {}, .headings = {}};
    outline.parts = {{.range = {0, tokens}, .kind = PartKind::Document}};
    return {outline, chunk};
}

// Counts the layers that keep `token` after `read` tokens. An event counts once all tokens of its chunk are read.
int plain_holding(const std::vector<engine::EvictionEvent>& events, int layers, uint64_t token, uint64_t read,
                  const ChunkClock& clock)
{
    int held = layers;
    for (const engine::EvictionEvent& event : events)
        held -= event.token == token && clock.tokens_at(event.chunk + 1) <= read;
    return held;
}

} // namespace

class FadeIndexTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void a_past_state_equals_a_plain_count_of_the_events();
    void the_time_bar_says_when_one_token_represents_several();
    void a_document_ends_its_chunk_and_a_generated_token_is_a_chunk();
    void the_time_bar_shows_and_replays_past_states();
    void a_fade_record_is_read_again_only_after_a_change();
};

void FadeIndexTest::a_past_state_equals_a_plain_count_of_the_events()
{
    TextOutline chat{.tokens = 3000, .parts = {}, .headings = {}};
    chat.parts = {{.range = {0, 2000}, .kind = PartKind::Document},
                  {.range = {2000, 2020}, .kind = PartKind::Question},
                  {.range = {2020, 2990}, .kind = PartKind::Answer},
                  {.range = {2990, 3000}, .kind = PartKind::Question}};
    for (const ChunkClock& clock : {plain_clock(300, 300), plain_clock(300, 3), plain_clock(300, 1),
                                    ChunkClock(chat, 64), ChunkClock(chat, 1)}) {
        const auto events = random_events(300, 6, clock.chunks(), 17);
        FadeIndex index(clock, 6);
        index.add(std::span(events).first(events.size() / 2));
        index.add(std::span(events).subspan(events.size() / 2));
        QCOMPARE(index.tokens_per_cell(), uint64_t{1});
        QCOMPARE(index.chunks_per_step() > 1, clock.tokens() > 254 * clock.width());
        QCOMPARE(index.tokens_read(0), uint64_t{0});
        QCOMPARE(index.tokens_read(index.steps()), clock.tokens());
        for (int step = 0; step <= index.steps(); step += 1 + index.steps() / 20) {
            QCOMPARE(index.step_at(index.tokens_read(step)), step);
            for (uint64_t token = 0; token < 300; token += 7)
                QCOMPARE(index.layers_holding(token, step),
                         plain_holding(events, 6, token, index.tokens_read(step), clock));
        }
    }
}

void FadeIndexTest::the_time_bar_says_when_one_token_represents_several()
{
    const ChunkClock clock = plain_clock(4000, 80);
    const auto events = random_events(4000, 4, 50, 19);
    const auto index = std::make_shared<FadeIndex>(clock, 4, 4096);
    index->add(events);
    QCOMPARE(index->tokens_per_cell(), uint64_t{4});
    QVERIFY(index->bytes() <= 4096);
    for (uint64_t token = 0; token < 4000; token += 101)
        QCOMPARE(index->layers_holding(token, 25), plain_holding(events, 4, token / 4 * 4, 2000, clock));
    TimeBar bar;
    bar.set_index(index);
    bar.set_step(25);
    bool said = false;
    for (const QLabel* label : bar.findChildren<QLabel*>())
        said = said || label->toolTip().contains(QStringLiteral("One token in 4"));
    QVERIFY(said);
    const FadeIndex long_book(plain_clock(10'000'000, 512), 32);
    QVERIFY(long_book.bytes() <= FadeIndex::default_bytes);
    QVERIFY(long_book.tokens_per_cell() > 1 && long_book.chunks_per_step() > 1);
}

void FadeIndexTest::a_document_ends_its_chunk_and_a_generated_token_is_a_chunk()
{
    TextOutline outline{.tokens = 2070, .parts = {}, .headings = {}};
    outline.parts = {{.range = {0, 5}},
                     {.range = {5, 2000}, .kind = PartKind::Document},
                     {.range = {2000, 2020}, .kind = PartKind::Question},
                     {.range = {2020, 2050}, .kind = PartKind::Answer},
                     {.range = {2050, 2070}, .kind = PartKind::Question}};
    const ChunkClock clock(outline, 512);
    QCOMPARE(clock.chunks(), uint64_t{4 + 1 + 30 + 1}); // document, question, answer, question
    QCOMPARE(clock.tokens_at(0), uint64_t{0});
    QCOMPARE(clock.tokens_at(2), uint64_t{1024});
    QCOMPARE(clock.tokens_at(4), uint64_t{2000});
    QCOMPARE(clock.tokens_at(5), uint64_t{2020});
    QCOMPARE(clock.tokens_at(15), uint64_t{2030});
    QCOMPARE(clock.tokens_at(36), uint64_t{2070});
}

void FadeIndexTest::the_time_bar_shows_and_replays_past_states()
{
    const SyntheticText text{20'000};
    const auto events = random_events(400, 3, 39, 23);
    DocumentPage page;
    page.resize(900, 700);
    page.set_source(text.source());
    page.set_kept(ragged_map(text.tokens, 3, 2));
    page.show();
    QVERIFY(arrives(*page.view()));
    QVERIFY(!page.time_bar()->isEnabled());
    page.set_fade_record(
        {.read = [&](const auto& each) { each(events); }, .mark = [] { return storage::FadeRecordMark(); }}, 3,
        512);
    EVENTUALLY(page.time_bar()->isEnabled());
    QVERIFY(page.time_bar()->is_now());
    const double now = page.view()->retention().share_of(150);
    QCOMPARE(qRound(now * 6), plain_count(*page.view()->retention().kept(), 150));
    page.time_bar()->set_step(20);
    QCOMPARE(page.time_bar()->tokens_read(), uint64_t{20 * 512});
    for (uint64_t token = 0; token < 400; ++token)
        QCOMPARE(qRound(page.view()->retention().share_of(token) * 3),
                 plain_holding(events, 3, token, 20 * 512, plain_clock(20'000, 512)));
    QCOMPARE(page.view()->retention().share_of(20 * 512), 0.0); // not read at that time
    QCOMPARE(page.view()->retention().share_of(20 * 512 - 1), 1.0);
    page.show_range({10, 20});
    QVERIFY(page.time_bar()->is_now());
    page.time_bar()->play(true);
    QCOMPARE(page.time_bar()->step(), 0);
    EVENTUALLY(page.time_bar()->step() > 2);
    page.time_bar()->play(false);
    QVERIFY(!page.time_bar()->is_playing());
    auto* slider = page.time_bar()->findChild<QSlider*>();
    const int step = page.time_bar()->step();
    QTest::keyClick(slider, Qt::Key_Right);
    QCOMPARE(page.time_bar()->step(), step + 1);

    page.set_fade_record({.read =
                              [](const auto&) {
                                  throw Error(ErrorKind::Failed, ErrorCode::DamagedSnapshot, Text("fading record"),
                                              Text("it is damaged"), Text("go on"));
                              },
                          .mark = [] { return storage::FadeRecordMark{.session = 2}; }},
                         3, 512);
    EVENTUALLY(!page.time_bar()->isEnabled());
}

void FadeIndexTest::a_fade_record_is_read_again_only_after_a_change()
{
    const SyntheticText text{20'000};
    const auto source = text.source();
    DocumentPage page;
    page.set_source(source);
    std::atomic<int> asked = 0, read = 0;
    std::atomic<int64_t> row = 0;
    const FadeRecord record{.read = [&](const auto&) { ++read; },
                            .mark =
                                [&] {
                                    ++asked;
                                    return storage::FadeRecordMark{.session = 1, .last_row = row};
                                }};
    const auto set = [&](int reads) {
        const int before = asked;
        page.set_fade_record(record, 3, 512);
        EVENTUALLY_EQUAL(asked, before + 1);
        EVENTUALLY_EQUAL(read, reads);
        QVERIFY(test::stays([&] { return read == reads; }, 50)); // read() is not called again
        EVENTUALLY(page.time_bar()->isEnabled());
    };
    set(1);
    set(1); // the record is unchanged, so it is not read again
    ++row;
    set(2);
    source->set_outline(SyntheticText{30'000}.outline(),
                        [=] { return std::make_unique<tests::SyntheticPages>(text); });
    set(3); // the text has grown
    page.set_source(text.source());
    QVERIFY(!page.time_bar()->isEnabled());
    set(4);
}

} // namespace palimpsest::ui

QTEST_MAIN(palimpsest::ui::FadeIndexTest)
#include "fade_index_test.moc"
