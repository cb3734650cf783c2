// accumulate() and evict() on every backend that evicts by itself: the results must equal those of a plain
// reference and of the policies, bit for bit.

#include "engine/policy/selection/tile_rule.h"
#include "engine/policy/selection/top_k.h"
#include "engine/policy/signals/accumulator.h"
#include "engine/policy/signals/pooling.h"
#include "tests/support/catch.h"
#include "tests/support/reference_eviction.h"
#include "tests/unit/kernels/backends.h"
#include "tests/unit/kernels/eviction_case.h"
#include "tests/unit/kernels/kv_fixture.h"

namespace palimpsest::kernels {
namespace {

using namespace test;

using Backends = std::vector<TestBackend>;

// All but the CPU, where the engine's policies select what is evicted.
Backends selecting_backends()
{
    Backends all = every_backend();
    std::erase_if(all, [](const TestBackend& on) { return on.kind() == Kind::Cpu; });
    return all;
}

// Runs the body; on the emulator, a second time with threads and blocks in descending order.
template<class Body>
void in_every_order(const TestBackend& on, Body&& body)
{
    body();
#ifdef PALIMPSEST_EMULATED_CUDA
    if (!on.emulated()) return;
    const tests::DescendingOrder other;
    body();
#endif
    (void)on;
}

// Compares bits: the sign of a zero and the payload of a NaN count.
template<class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b, size_t from, size_t count)
{
    return std::memcmp(a.data() + from, b.data() + from, count * sizeof(T)) == 0;
}

template<class T>
void refresh(Backend& backend, std::vector<T>& host, const Buffer& device)
{
    host = to_host<T>(backend, device, host.size());
}

// Runs evict() on a backend and returns the case with its results.
EvictionCase evicted(Backend& backend, const EvictionCase& before)
{
    EvictionCase after = before;
    const Buffer plan = to_device(backend, after.plan), sum = to_device(backend, after.sum),
                 count = to_device(backend, after.count), order = to_device(backend, after.order),
                 dropped = to_device(backend, after.dropped), kept = to_device(backend, after.kept),
                 pinned = to_device(backend, after.pinned), held = to_device(backend, after.held);
    EvictArgs args = after.args();
    args.plan = plan.data<uint32_t>();
    if (args.statistics.sum) {
        args.statistics.sum = sum.data<double>();
        args.statistics.count = count.data<double>();
    }
    args.dropped = dropped.data<uint32_t>();
    if (args.order) args.order = order.data<uint32_t>();
    if (args.kept) args.kept = kept.data<uint32_t>();
    if (args.pinned.ranks) {
        args.pinned.ranks = pinned.data<uint32_t>();
        args.pinned.held = held.data<uint32_t>();
    }
    backend.evict(args);
    refresh(backend, after.sum, sum);
    refresh(backend, after.count, count);
    refresh(backend, after.order, order);
    refresh(backend, after.dropped, dropped);
    refresh(backend, after.kept, kept);
    refresh(backend, after.pinned, pinned);
    return after;
}

// Compares everything except statistics from the new size to the old size of a list, which are undefined.
void require_same(const EvictionCase& got, const EvictionCase& expected)
{
    const auto stride = static_cast<size_t>(expected.stride);
    for (size_t h = 0; h < expected.plans.size(); ++h) {
        const ListPlan& list = expected.plans[h];
        CAPTURE(h, list.size, list.evicted, list.first, list.end, list.waves, list.given);
        const size_t row = h * stride, kept = list.size - list.evicted, behind = stride - list.size;
        REQUIRE(same_bits(got.dropped, expected.dropped, row, stride));
        REQUIRE(same_bits(got.kept, expected.kept, row, stride));
        REQUIRE(same_bits(got.order, expected.order, row, stride));
        if (expected.setting.with_pins) REQUIRE(same_bits(got.pinned, expected.pinned, row, stride));
        REQUIRE(same_bits(got.sum, expected.sum, row, kept));
        REQUIRE(same_bits(got.count, expected.count, row, kept));
        REQUIRE(same_bits(got.sum, expected.sum, row + list.size, behind));
        REQUIRE(same_bits(got.count, expected.count, row + list.size, behind));
    }
}

void check(const Backends& backends, const EvictionSetting& setting, uint32_t seed)
{
    const EvictionCase before(setting, seed);
    EvictionCase expected = before;
    reference_evict(expected.args());
    for (const TestBackend& on : backends) {
        const SelectionRule& rule = setting.rule;
        CAPTURE(on, seed, setting.max_size, int(setting.values), setting.one_leaves, setting.after_token,
                setting.with_pins);
        CAPTURE(int(rule.select), int(rule.score), int(rule.pooling), rule.kernel, rule.layer_mean);
        CAPTURE(rule.tile, rule.kept, rule.unit, rule.ties_keep_older);
        const auto backend = on.open();
        in_every_order(on, [&] { require_same(evicted(*backend, before), expected); });
    }
}

// Checks a rule with every kind of score, one or several evicted tokens, and with and without pinned tokens.
void check_all(const Backends& backends, const SelectionRule& rule, uint32_t max_size, uint32_t seed)
{
    for (const Values values : {Values::Any, Values::Few, Values::Same, Values::Strange})
        for (const bool one_leaves : {false, true}) {
            for (const bool with_pins : {false, true})
                check(backends,
                      {.rule = rule,
                       .max_size = max_size,
                       .values = values,
                       .one_leaves = one_leaves,
                       .after_token = seed % 3 != 0,
                       .with_pins = with_pins},
                      seed);
            ++seed;
        }
}

#ifdef PALIMPSEST_EMULATED_CUDA
TEST_CASE("evict uses smaller blocks after a decoded token than after a chunk")
{
    const auto backend = palimpsest::tests::open_emulated_cuda(90);
    for (const bool after_token : {false, true}) {
        const EvictionSetting setting{.rule = {.select = SelectRule::Lowest, .score = ScoreRule::Mean},
                                      .max_size = 300,
                                      .after_token = after_token};
        const palimpsest::tests::LaunchedThreads launched;
        evicted(*backend, EvictionCase(setting, 3));
        CHECK(launched.most() == (after_token ? 256 : 1024));
    }
}
#endif

TEST_CASE("evicting given ranks equals the reference")
{
    const Backends backends = selecting_backends();
    for (const uint32_t size : {1u, 31u, 200u, 5000u})
        check_all(backends, {.select = SelectRule::Given, .score = ScoreRule::Mean}, size, size);
    check_all(backends, {.select = SelectRule::Given}, 90, 7); // without statistics
}

TEST_CASE("evicting the lowest scores equals the reference")
{
    const Backends backends = selecting_backends();
    for (const ScoreRule score : {ScoreRule::Mean, ScoreRule::Total, ScoreRule::Negative})
        for (const uint32_t size : {1u, 33u, 700u})
            check_all(backends, {.select = SelectRule::Lowest, .score = score}, size, size);
    check_all(backends, {.select = SelectRule::Lowest, .score = ScoreRule::Mean}, 3000, 3000);
}

TEST_CASE("evicting the lowest pooled scores equals the reference")
{
    const Backends backends = selecting_backends();
    for (const PoolRule pooling : {PoolRule::Average, PoolRule::Max})
        for (const int32_t kernel : {1, 5, 1027})
            for (const bool layer_mean : {false, true})
                check_all(backends,
                          {.select = SelectRule::Lowest,
                           .score = ScoreRule::Mean,
                           .pooling = pooling,
                           .kernel = kernel,
                           .layer_mean = layer_mean},
                          kernel == 5 ? 600 : 70, static_cast<uint32_t>(kernel));
    check_all(backends, {.select = SelectRule::Lowest, .score = ScoreRule::Total, .kernel = 5, .layer_mean = true},
              300, 1);
}

TEST_CASE("tile eviction equals the reference")
{
    const Backends backends = selecting_backends();
    for (const int32_t unit : {1, 16})
        for (const bool ties_keep_older : {false, true})
            check_all(backends,
                      {.select = SelectRule::Tiles,
                       .score = ScoreRule::Mean,
                       .unit = unit,
                       .ties_keep_older = ties_keep_older},
                      unit == 1 ? 300 : 1500, static_cast<uint32_t>(unit));
    for (const int32_t tile : {3, 5, 40})
        check_all(backends,
                  {.select = SelectRule::Tiles,
                   .score = ScoreRule::Total,
                   .tile = tile,
                   .kept = 2,
                   .ties_keep_older = true},
                  400, static_cast<uint32_t>(tile));
}

TEST_CASE("tile eviction with more tiles in a wave than a block has threads equals the reference")
{
    const Backends backends = selecting_backends();
    for (const bool ties_keep_older : {false, true})
        check(backends,
              {.rule = {.select = SelectRule::Tiles,
                        .score = ScoreRule::Negative,
                        .ties_keep_older = ties_keep_older},
               .max_size = 5000,
               .values = Values::Few},
              3);
}

TEST_CASE("evicting from lists of tens of thousands of tokens equals the reference")
{
    const Backends backends = selecting_backends();
    for (const Values values : {Values::Any, Values::Few})
        for (const SelectRule select : {SelectRule::Given, SelectRule::Lowest})
            check(backends,
                  {.rule = {.select = select, .score = ScoreRule::Mean},
                   .lists = 2,
                   .max_size = 70000,
                   .values = values,
                   .after_token = false},
                  1);
}

// ---- accumulation

struct Accumulation {
    int32_t rows, question_rows, counted, divisor;
    double decay;
};

// Arguments and results of accumulate() for lists of these sizes, which include the step's own tokens.
class AccumulationCase {
public:
    AccumulationCase(const Accumulation& with, std::vector<uint32_t> list_sizes, uint32_t seed)
        : step(with), sizes(std::move(list_sizes)), random_(seed)
    {
        const uint32_t most = *std::max_element(sizes.begin(), sizes.end());
        stride = most + 5;
        column_stride = most + step.question_rows + 3;
        columns = normal_floats(random_, sizes.size() * static_cast<size_t>(column_stride));
        for (const uint32_t size : sizes) {
            const ListPlan list{.size = size, .evicted = 0xdeadbeef};
            plan.resize(plan.size() + 8);
            std::memcpy(plan.data() + plan.size() - 8, &list, sizeof list);
        }
        // The ranks that this step adds have no earlier statistics: their values must not be read.
        const double nan = std::numeric_limits<double>::quiet_NaN();
        sum.assign(sizes.size() * static_cast<size_t>(stride), nan);
        count = sum;
        for (size_t h = 0; h < sizes.size(); ++h)
            for (size_t rank = 0; rank < old(h); ++rank) {
                sum[at(h) + rank] = std::normal_distribution<double>(0, 5)(random_);
                count[at(h) + rank] = std::uniform_real_distribution<double>(0, 99)(random_);
            }
    }

    AccumulateArgs args()
    {
        return {.kv_heads = static_cast<int32_t>(sizes.size()),
                .plan = plan.data(),
                .max_size = *std::max_element(sizes.begin(), sizes.end()),
                .columns = columns.data(),
                .column_stride = column_stride,
                .divisor = step.divisor,
                .rows = step.rows,
                .question_rows = step.question_rows,
                .counted = step.counted,
                .decay = step.decay,
                .statistics = {sum.data(), count.data(), stride}};
    }
    size_t at(size_t head) const { return head * static_cast<size_t>(stride); }
    size_t old(size_t head) const { return sizes[head] - static_cast<size_t>(step.rows - step.question_rows); }

    Accumulation step;
    std::vector<uint32_t> sizes, plan;
    int64_t stride = 0, column_stride = 0;
    std::vector<float> columns;
    std::vector<double> sum, count;

private:
    std::mt19937 random_;
};

AccumulationCase accumulated(Backend& backend, const AccumulationCase& before)
{
    AccumulationCase after = before;
    const Buffer plan = to_device(backend, after.plan), columns = to_device(backend, after.columns),
                 sum = to_device(backend, after.sum), count = to_device(backend, after.count);
    AccumulateArgs args = after.args();
    args.plan = plan.data<uint32_t>();
    args.columns = columns.data<float>();
    args.statistics = {sum.data<double>(), count.data<double>(), after.stride};
    backend.accumulate(args);
    refresh(backend, after.sum, sum);
    refresh(backend, after.count, count);
    return after;
}

TEST_CASE("accumulated sums and counts equal the reference")
{
    const Backends backends = selecting_backends();
    const Accumulation steps[] = {{1, 0, 1, 4, 1.0},         {1, 0, 1, 3, 0.96875}, {64, 0, 64, 6, 0.3},
                                  {64, 0, 17, 1, 1.0 / 3.0}, {40, 9, 40, 5, 0.0},   {40, 9, 6, 8, 0.7},
                                  {9, 9, 4, 2, 0.9},         {300, 0, 300, 7, 1.0}};
    for (const Accumulation& step : steps) {
        CAPTURE(step.rows, step.question_rows, step.counted, step.divisor, step.decay);
        const auto own = static_cast<uint32_t>(step.rows - step.question_rows);
        const AccumulationCase before(step, {own + 1, own + 300, std::max(own, 1u), own + 77}, own + 1);
        AccumulationCase expected = before;
        reference_accumulate(expected.args());
        for (const TestBackend& on : backends) {
            CAPTURE(on);
            const auto backend = on.open();
            in_every_order(on, [&] {
                const AccumulationCase got = accumulated(*backend, before);
                for (size_t h = 0; h < before.sizes.size(); ++h) {
                    CAPTURE(h);
                    REQUIRE(same_bits(got.sum, expected.sum, got.at(h), static_cast<size_t>(got.stride)));
                    REQUIRE(same_bits(got.count, expected.count, got.at(h), static_cast<size_t>(got.stride)));
                }
            });
        }
    }
}

// ---- comparison with the code of the policies

TEST_CASE("accumulated sums and counts have the bits of the policies' accumulator")
{
    const Backends backends = selecting_backends();
    for (const int32_t window : {1, 5, 32, 100, engine::SignalNeeds::all})
        for (const int32_t rows : {1, 32, 70}) {
            CAPTURE(window, rows);
            const double decay =
                window == engine::SignalNeeds::all ? 1.0 : std::max(0.0, 1.0 - double(rows) / double(window));
            const AccumulationCase before({rows, 0, std::min(window, rows), 3, decay},
                                          {static_cast<uint32_t>(rows), 200, 131}, 5);
            for (const TestBackend& on : backends) {
                CAPTURE(on);
                const AccumulationCase got = accumulated(*on.open(), before);
                for (size_t h = 0; h < before.sizes.size(); ++h) {
                    const size_t size = before.sizes[h], at = before.at(h);
                    const auto from = [&](const std::vector<double>& row) {
                        std::vector<double> list(row.begin() + static_cast<std::ptrdiff_t>(at),
                                                 row.begin() + static_cast<std::ptrdiff_t>(at + size));
                        std::fill(list.begin() + static_cast<std::ptrdiff_t>(before.old(h)), list.end(), 0.0);
                        return list;
                    };
                    std::vector<double> sum = from(before.sum), count = from(before.count);
                    const float* columns = before.columns.data() + static_cast<int64_t>(h) * before.column_stride;
                    engine::accumulate(window, rows, 3, {columns, size}, sum, count);
                    REQUIRE(std::memcmp(sum.data(), got.sum.data() + at, size * sizeof(double)) == 0);
                    REQUIRE(std::memcmp(count.data(), got.count.data() + at, size * sizeof(double)) == 0);
                }
            }
        }
}

engine::Signal signal_of(ScoreRule rule)
{
    return {.kind = rule == ScoreRule::Mean    ? engine::ScoreKind::Mean
                    : rule == ScoreRule::Total ? engine::ScoreKind::Total
                                               : engine::ScoreKind::FewLow};
}

// A list of the case, as the engine's policies read it.
engine::ListView list_view(const EvictionCase& of, size_t head)
{
    const size_t at = head * static_cast<size_t>(of.stride), size = of.plans[head].size;
    return {.list = {.stream = {}, .sum = {of.sum.data() + at, size}, .count = {of.count.data() + at, size}},
            .ranks = {},
            .size = static_cast<uint32_t>(size)};
}

std::vector<uint32_t> dropped_of(const EvictionCase& of, size_t head)
{
    const auto at = of.dropped.begin() + static_cast<std::ptrdiff_t>(head) * of.stride;
    return {at, at + of.plans[head].evicted};
}

// The ranks that the policies' TopK evicts from a list.
std::vector<uint32_t> top_k_drops(const EvictionCase& before, size_t head)
{
    const SelectionRule& rule = before.setting.rule;
    const ListPlan& list = before.plans[head];
    const engine::ListView view = list_view(before, head);
    engine::ListCut cut{
        .view = view,
        .ends = {.sinks = static_cast<int32_t>(list.first), .recent = static_cast<int32_t>(list.size - list.end)},
        .score = {.signal = signal_of(rule.score), .view = view}};
    std::vector<double> raw(list.end), shaped(list.end);
    cut.score.read(raw);
    const auto kind = rule.pooling == PoolRule::Max ? engine::Pooling::Max : engine::Pooling::Average;
    if (rule.pooling == PoolRule::None)
        shaped = raw;
    else
        engine::pool(kind, rule.kernel, raw, shaped);
    for (double& score : shaped)
        score = engine::ordered(score);
    cut.shaped = shaped;
    cut.budget = list.size - list.evicted;
    std::vector<std::vector<uint32_t>> dropped(1);
    engine::TopK().select(0, {&cut, 1}, dropped);
    return dropped[0];
}

TEST_CASE("evict drops the lowest scores that the policies' TopK drops")
{
    const Backends backends = selecting_backends();
    for (const ScoreRule score : {ScoreRule::Mean, ScoreRule::Total, ScoreRule::Negative})
        for (const PoolRule pooling : {PoolRule::None, PoolRule::Average, PoolRule::Max})
            for (const Values values : {Values::Any, Values::Few, Values::Strange}) {
                CAPTURE(int(score), int(pooling), int(values));
                const SelectionRule rule{
                    .select = SelectRule::Lowest, .score = score, .pooling = pooling, .kernel = 7};
                const EvictionCase before({.rule = rule, .lists = 4, .values = values}, 9);
                for (const TestBackend& on : backends) {
                    CAPTURE(on);
                    const EvictionCase after = evicted(*on.open(), before);
                    for (size_t h = 0; h < before.plans.size(); ++h)
                        if (before.plans[h].evicted > 0 && before.plans[h].given == 0)
                            REQUIRE(dropped_of(after, h) == top_k_drops(before, h));
                }
            }
}

// The ranks that the policies' tile rule evicts from a list, one tile after the other.
std::vector<uint32_t> survivors_drop(const EvictionCase& before, size_t head)
{
    const SelectionRule& rule = before.setting.rule;
    const ListPlan& list = before.plans[head];
    const engine::ScoreView score{.signal = signal_of(rule.score), .view = list_view(before, head)};
    const auto tile = static_cast<size_t>(rule.tile);
    std::vector<uint32_t> entries(list.size), dropped;
    std::iota(entries.begin(), entries.end(), list.first);
    const std::span<const uint32_t> tiles(before.plan.data() + list.data,
                                          before.plan[list.wave_ends + list.waves - 1] * tile);
    for (size_t at = 0; at < tiles.size(); at += tile) {
        if (rule.ties_keep_older)
            engine::BestOfTile(static_cast<uint32_t>(rule.kept))
                .apply(0, tiles.subspan(at, tile), score, entries, dropped);
        else
            engine::HigherScore().apply(0, tiles.subspan(at, tile), score, entries, dropped);
    }
    std::sort(dropped.begin(), dropped.end());
    return dropped;
}

TEST_CASE("tile eviction drops the ranks that the policies' tile rules drop")
{
    const Backends backends = selecting_backends();
    const SelectionRule pairs{.select = SelectRule::Tiles, .score = ScoreRule::Mean};
    const SelectionRule fives{
        .select = SelectRule::Tiles, .score = ScoreRule::Mean, .tile = 5, .kept = 2, .ties_keep_older = true};
    for (const SelectionRule& rule : {pairs, fives})
        for (const Values values : {Values::Any, Values::Few, Values::Strange}) {
            CAPTURE(rule.tile, int(values));
            const EvictionCase before({.rule = rule, .lists = 4, .values = values}, 11);
            for (const TestBackend& on : backends) {
                CAPTURE(on);
                const EvictionCase after = evicted(*on.open(), before);
                for (size_t h = 0; h < before.plans.size(); ++h)
                    if (before.plans[h].evicted > 0 && before.plans[h].given == 0)
                        REQUIRE(dropped_of(after, h) == survivors_drop(before, h));
            }
        }
}

} // namespace
} // namespace palimpsest::kernels
