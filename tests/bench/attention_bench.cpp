// Speed of attention: prefill as a fraction of the f32 peak measured in the same run, the cost of signals, decode
// as a fraction of read bandwidth, with rows in rank order and shuffled, and retrieval of a part of a list relative
// to attending to all of it.
//
//   attention-bench [--threads N] [--simd NAME] [--repeats N] [--only prefill|signals|decode|retrieval]
//                   [--clock wall|cpu]
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "kernels/backend.h"
#include "kernels/base/convert.h"
#include "kernels/base/error.h"
#include "kernels/base/printable.h"
#include "tests/bench/ceilings.h"
#include "tests/bench/median.h"

using namespace palimpsest;
using namespace palimpsest::kernels;

namespace {

struct Options {
    int threads = 0;
    int repeats = 7;
    std::string simd, only;
    bool cpu_time = false; // for machines with other load
};

template<class Body>
double seconds_of(const bench::Clock& clock, int calls, Body&& body)
{
    const double start = clock.now();
    for (int i = 0; i < calls; ++i)
        body();
    return (clock.now() - start) / calls;
}

std::vector<float> random_floats(size_t count)
{
    std::mt19937 random(1);
    std::vector<float> x(count);
    for (float& v : x)
        v = static_cast<float>(random()) * 0x1p-31f - 1.0f;
    return x;
}

// The lists of one layer with random values; four query heads per KV head.
class Layer {
public:
    Layer(Backend& backend, int32_t kv_heads, int32_t head_dim, int32_t used_ranks, int32_t rows, bool shuffled)
        : shape{.query_heads = 4 * kv_heads,
                .kv_heads = kv_heads,
                .head_dim = head_dim,
                .scale = 1.0f / std::sqrt(static_cast<float>(head_dim))},
          stride((used_ranks + rows + page_rows) / page_rows * page_rows),
          used(static_cast<size_t>(kv_heads), used_ranks)
    {
        const auto elements = static_cast<size_t>(kv_heads * stride * head_dim);
        std::vector<uint16_t> halves(elements);
        const auto floats = random_floats(elements);
        from_f32(DType::F16, floats.data(), halves.data(), static_cast<int64_t>(elements));
        for (Buffer* buffer : {&keys, &values, &staged_keys, &staged_values}) {
            *buffer = Buffer(backend, elements * 2);
            backend.upload(buffer->data(), halves.data(), elements * 2);
        }
        const auto qkv_host = random_floats(static_cast<size_t>(rows * shape.qkv_width()));
        qkv = Buffer(backend, qkv_host.size() * 4);
        backend.upload(qkv.data(), qkv_host.data(), qkv_host.size() * 4);
        const auto table_host = random_floats(static_cast<size_t>((used_ranks + rows + 1) * head_dim));
        table = Buffer(backend, table_host.size() * 4);
        backend.upload(table.data(), table_host.data(), table_host.size() * 4);
        out = Buffer(backend, static_cast<size_t>(rows * shape.query_heads * head_dim) * 4);
        sums = Buffer(backend, static_cast<size_t>(kv_heads * stride) * 4);
        fill_lists(backend, shuffled);
    }

    Rotation rotation() const { return {{table.data<float>(), stride, shape.head_dim}, false}; }
    KvLists lists() const
    {
        return {.pages = pages.data<uint32_t>(),
                .page_stride = stride / page_rows,
                .used = used.data(),
                .order = order.data<uint32_t>(),
                .order_stride = stride};
    }
    KvPool pool() const { return {DType::F16, keys.data(), values.data()}; }

    HeadShape shape;
    int64_t stride;
    std::vector<int32_t> used;
    Buffer keys, values, staged_keys, staged_values, pages, order, qkv, table, out, sums;

private:
    void fill_lists(Backend& backend, bool shuffled)
    {
        std::vector<uint32_t> page_ids(static_cast<size_t>(shape.kv_heads * stride / page_rows));
        std::iota(page_ids.begin(), page_ids.end(), 0u);
        std::vector<uint32_t> ranks;
        std::mt19937 random(2);
        for (int32_t h = 0; h < shape.kv_heads; ++h) {
            std::vector<uint32_t> rows(static_cast<size_t>(stride));
            std::iota(rows.begin(), rows.end(), 0u);
            if (shuffled) std::shuffle(rows.begin(), rows.end(), random);
            ranks.insert(ranks.end(), rows.begin(), rows.end());
        }
        pages = Buffer(backend, page_ids.size() * 4);
        order = Buffer(backend, ranks.size() * 4);
        backend.upload(pages.data(), page_ids.data(), page_ids.size() * 4);
        backend.upload(order.data(), ranks.data(), ranks.size() * 4);
    }
};

void measure_prefill(const Options& options, Backend& backend, ThreadPool& pool, const bench::Clock& clock)
{
    for (const int32_t dim : {64, 128}) {
        for (const int32_t rows : {64, 512}) {
            for (const int32_t used : {256, 1024, 2048, 8192}) {
                const Layer layer(backend, 2, dim, used, rows, false);
                const auto run = [&](int32_t wanted) {
                    backend.attend(
                        {.shape = layer.shape,
                         .qkv = layer.qkv.data<float>(),
                         .rows = rows,
                         .pool = layer.pool(),
                         .lists = layer.lists(),
                         .staging = {layer.staged_keys.data(), layer.staged_values.data(), layer.stride},
                         .rotation = layer.rotation(),
                         .out = layer.out.data<float>(),
                         .signals = {.rows = wanted, .sums = layer.sums.data<float>(), .stride = layer.stride}});
                };
                const double visible = static_cast<double>(rows) * (used + 0.5 * (rows + 1));
                const double work = 4.0 * dim * layer.shape.query_heads * visible;
                run(SignalRequest::all);
                const int calls = std::max(1, static_cast<int>(0.03 / seconds_of(clock, 1, [&] { run(0); })));
                std::vector<double> speeds, fractions, extra;
                for (int i = 0; i < options.repeats; ++i) {
                    const double peak = bench::fma_peak(pool, clock);
                    const double without = seconds_of(clock, calls, [&] { run(0); });
                    const double with = seconds_of(clock, calls, [&] { run(SignalRequest::all); });
                    speeds.push_back(work / without);
                    fractions.push_back(speeds.back() / peak);
                    extra.push_back(with / without);
                }
                std::printf("prefill dim %3d  rows %3d  used %4d  %2d threads  %7.1f GFLOP/s  %.2f of peak  "
                            "all sums: %.3f of the time\n",
                            dim, rows, used, pool.threads(), bench::median(speeds) / 1e9, bench::median(fractions),
                            bench::median(extra));
                std::fflush(stdout);
            }
        }
    }
}

void measure_decode(const Options& options, Backend& backend, ThreadPool& pool, const bench::Clock& clock,
                    bench::ReadBandwidth& bandwidth)
{
    for (const int32_t dim : {64, 128}) {
        for (const int32_t used : {256, 2047, 8191}) {
            double bytes = 0;
            std::vector<Layer> straight, shuffled;
            while (bytes < static_cast<double>(bandwidth.bytes())) {
                straight.emplace_back(backend, 4, dim, used, 1, false);
                shuffled.emplace_back(backend, 4, dim, used, 1, true);
                bytes += 2.0 * 2 * dim * 4 * (used + 1);
            }
            const auto run = [&](const std::vector<Layer>& layers) {
                for (const Layer& layer : layers)
                    backend.decode_attend(
                        {.shape = layer.shape,
                         .qkv = layer.qkv.data<float>(),
                         .pool = layer.pool(),
                         .lists = layer.lists(),
                         .rotation = layer.rotation(),
                         .out = layer.out.data<float>(),
                         .signals = {.rows = 1, .sums = layer.sums.data<float>(), .stride = layer.stride},
                         .retrieval = {}});
            };
            run(straight);
            std::vector<double> in_order, any_order, fractions;
            for (int i = 0; i < options.repeats; ++i) {
                const double ceiling = bandwidth(pool, clock);
                in_order.push_back(bytes / seconds_of(clock, 1, [&] { run(straight); }));
                any_order.push_back(bytes / seconds_of(clock, 1, [&] { run(shuffled); }));
                fractions.push_back(in_order.back() / ceiling);
            }
            std::printf(
                "decode  dim %3d  used %4d  %2d threads  in rank order %5.1f GB/s (%.2f of bandwidth), in any "
                "order %5.1f GB/s\n",
                dim, used, pool.threads(), bench::median(in_order) / 1e9, bench::median(fractions),
                bench::median(any_order) / 1e9);
            std::fflush(stdout);
        }
    }
}

// Buffers for every signal, sized for a layer's lists.
class SignalOutputs {
public:
    SignalOutputs(Backend& backend, const Layer& layer) : layer_(layer)
    {
        const auto bytes = static_cast<size_t>(layer.shape.query_heads * layer.stride) * 4;
        for (Buffer& buffer : planes_)
            buffer = Buffer(backend, bytes);
    }
    SignalRequest sums(int32_t rows) const { return {.rows = rows, .sums = plane(0), .stride = layer_.stride}; }
    SignalRequest low_counts(int32_t rows) const
    {
        return {.rows = rows, .low_counts = plane(1), .stride = layer_.stride};
    }
    SignalRequest moments(int32_t rows) const
    {
        return {.rows = rows, .head_sums = plane(2), .head_squares = plane(3), .stride = layer_.stride};
    }
    SignalRequest moments_and_entropies(int32_t rows) const
    {
        SignalRequest request = moments(rows);
        request.entropies = plane(4);
        return request;
    }
    SignalRequest statistic(int32_t rows, RowStatistic kind) const
    {
        SignalRequest request = sums(rows);
        request.row_statistic = kind;
        request.row_statistics = plane(5);
        return request;
    }

private:
    float* plane(int i) const { return planes_[i].data<float>(); }
    const Layer& layer_;
    Buffer planes_[6];
};

void measure_signals(const Options& options, Backend& backend, const bench::Clock& clock)
{
    constexpr int32_t rows = 512;
    for (const int32_t dim : {64, 128}) {
        for (const int32_t used : {1024, 2048}) {
            const Layer layer(backend, 2, dim, used, rows, false);
            const SignalOutputs out(backend, layer);
            const auto run = [&](const SignalRequest& wanted) {
                backend.attend({.shape = layer.shape,
                                .qkv = layer.qkv.data<float>(),
                                .rows = rows,
                                .pool = layer.pool(),
                                .lists = layer.lists(),
                                .staging = {layer.staged_keys.data(), layer.staged_values.data(), layer.stride},
                                .rotation = layer.rotation(),
                                .out = layer.out.data<float>(),
                                .signals = wanted});
            };
            const std::pair<const char*, SignalRequest> requests[] = {
                {"sums of 32 rows", out.sums(32)},
                {"sums of all rows", out.sums(rows)},
                {"low counts of 400 rows", out.low_counts(400)},
                {"moments of 32 rows", out.moments(32)},
                {"moments and entropies of 32 rows", out.moments_and_entropies(32)},
                {"sums and entropy of 8 rows", out.statistic(8, RowStatistic::Entropy)},
                {"sums and density of 8 rows", out.statistic(8, RowStatistic::Density)},
                {"sums and gini of 8 rows", out.statistic(8, RowStatistic::Gini)}};
            for (const auto& [name, wanted] : requests) {
                run(wanted);
                std::vector<double> ratios;
                for (int i = 0; i < options.repeats; ++i) {
                    const double without = seconds_of(clock, 2, [&] { run({}); });
                    ratios.push_back(seconds_of(clock, 2, [&run, &signals = wanted] { run(signals); }) / without);
                }
                std::printf("signals dim %3d  rows %3d  used %4d  %2d threads  %-32s %.3f of the time without\n",
                            dim, rows, used, backend.threads(), name, bench::median(ratios));
                std::fflush(stdout);
            }
        }
    }
}

// Budget of 1,024 of 16,384 ranks, in pages of 16, over layers that exceed the caches.
void measure_retrieval(const Options& options, Backend& backend, const bench::Clock& clock,
                       const bench::ReadBandwidth& bandwidth)
{
    constexpr int32_t used = 16383, page = 16, tokens = 1024;
    for (const int32_t dim : {64, 128}) {
        std::vector<Layer> layers;
        std::vector<Buffer> bounds;
        const int64_t pages = used / page + 1;
        for (double bytes = 0; bytes < static_cast<double>(bandwidth.bytes()); bytes += 2.0 * 2 * dim * 4 * used) {
            layers.emplace_back(backend, 4, dim, used, 1, false);
            bounds.emplace_back(backend, static_cast<size_t>(4 * pages * 2 * dim) * 4);
        }
        const auto bound = [&](int64_t first) {
            for (size_t i = 0; i < layers.size(); ++i)
                backend.bound_pages({.shape = layers[i].shape,
                                     .pool = layers[i].pool(),
                                     .lists = layers[i].lists(),
                                     .rotation = layers[i].rotation(),
                                     .first = first,
                                     .pages = {bounds[i].data<float>(), pages, page}});
        };
        const auto run = [&](bool retrieve, float top_p) {
            for (size_t i = 0; i < layers.size(); ++i)
                backend.decode_attend(
                    {.shape = layers[i].shape,
                     .qkv = layers[i].qkv.data<float>(),
                     .pool = layers[i].pool(),
                     .lists = layers[i].lists(),
                     .rotation = layers[i].rotation(),
                     .out = layers[i].out.data<float>(),
                     .signals = {},
                     .retrieval = {.pages = {retrieve ? bounds[i].data<float>() : nullptr, pages, page},
                                   .tokens = tokens,
                                   .max_pages = tokens / page,
                                   .top_p = top_p}});
        };
        bound(0);
        run(true, 0.85f);
        std::vector<double> of_pages, of_mass, refreshed;
        for (int i = 0; i < options.repeats; ++i) {
            const double all = seconds_of(clock, 1, [&] { run(false, 0); });
            of_pages.push_back(seconds_of(clock, 1, [&] { run(true, 0); }) / all);
            of_mass.push_back(seconds_of(clock, 1, [&] { run(true, 0.85f); }) / all);
            refreshed.push_back(seconds_of(clock, 1, [&] { bound(used - 1); }) / all);
        }
        std::printf(
            "retrieval dim %3d  %d of %d ranks  %2d threads  pages %.3f, pages then mass %.3f of the time of "
            "reading everything; refreshing bounds %.4f\n",
            dim, tokens, used + 1, backend.threads(), bench::median(of_pages), bench::median(of_mass),
            bench::median(refreshed));
        std::fflush(stdout);
    }
}

Options parse(int argc, char** argv)
{
    Options options;
    for (int i = 1; i < argc; i += 2) {
        const std::string name = argv[i], value = i + 1 < argc ? argv[i + 1] : "";
        if (name == "--threads")
            options.threads = std::atoi(value.c_str());
        else if (name == "--repeats")
            options.repeats = std::max(1, std::atoi(value.c_str()));
        else if (name == "--simd")
            options.simd = value;
        else if (name == "--only")
            options.only = value;
        else if (name == "--clock")
            options.cpu_time = value == "cpu";
        else
            throw Error(ErrorKind::Usage, ErrorCode::InvalidArguments, Text("option '{0}'", printable(name)),
                        Text("there is no such option"), Text("see the first lines of {0}", "attention_bench.cpp"));
    }
    return options;
}

} // namespace

int main(int argc, char** argv)
{
    try {
        const Options options = parse(argc, argv);
        const auto backend = open_backend({.device = "cpu", .threads = options.threads, .simd = options.simd});
        ThreadPool pool(backend->threads());
        const bench::Clock clock(pool.threads(), options.cpu_time);
        std::printf("target %s\n", backend->simd_target().c_str());
        const auto measured = [&](const char* what) { return options.only.empty() || options.only == what; };
        if (measured("prefill")) measure_prefill(options, *backend, pool, clock);
        if (measured("signals")) measure_signals(options, *backend, clock);
        if (!measured("decode") && !measured("retrieval")) return 0;
        bench::ReadBandwidth bandwidth;
        if (measured("decode")) measure_decode(options, *backend, pool, clock, bandwidth);
        if (measured("retrieval")) measure_retrieval(options, *backend, clock, bandwidth);
    } catch (const Error& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return static_cast<int>(error.kind());
    }
}
