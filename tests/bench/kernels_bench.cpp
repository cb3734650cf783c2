// Speeds of the matrix kernels as fractions of the machine's ceilings: every sample of a kernel is between two
// samples of its ceiling in the same run; reports the median of the pairwise fractions.
//
//   kernels-bench [--threads N] [--simd NAME] [--repeats N] [--only gemm|gemv] [--types f32,f16,bf16,q8_0]
//   [--shapes ROWSxCOLS,...] [--exact] [--cpu-time] [--json]
//
// --types accepts every weight type; --exact disables fixed-point products.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "kernels/base/convert.h"
#include "kernels/base/error.h"
#include "kernels/base/printable.h"
#include "tests/bench/ceilings.h"
#include "tests/bench/median.h"
#include "tests/support/random_blocks.h"

using namespace palimpsest;
using namespace palimpsest::kernels;

namespace {

struct Options {
    int threads = 0;
    int repeats = 7;
    std::string simd, only;
    std::string types = "f32,f16,bf16,q8_0";
    bool cpu_time = false; // uses processor time, for machines with other load
    bool json = false;
    bool exact = false;
    std::vector<std::pair<int64_t, int64_t>> shapes; // rows and columns of weights; empty: shapes of a 1.1B model
};

struct Result {
    std::string kernel, type, shape;
    int threads = 0;
    double speed = 0;   // operations or bytes per second
    double ceiling = 0; // in the same unit
    double fraction = 0;
    double bar = 0; // the least share of the ceiling that passes; 0: no requirement
};

// `work`: operations or bytes per call of `body`.
Result against_ceiling(const Options& options, const bench::Clock& clock, double work,
                       const std::function<void()>& body, const std::function<double()>& ceiling)
{
    body();
    const double once = [&] {
        const double start = clock.now();
        body();
        return clock.now() - start;
    }();
    const int calls = std::max(1, static_cast<int>(0.03 / once));
    std::vector<double> speeds, ceilings, fractions;
    double before = ceiling();
    for (int repeat = 0; repeat < options.repeats; ++repeat) {
        const double start = clock.now();
        for (int call = 0; call < calls; ++call)
            body();
        speeds.push_back(work * calls / (clock.now() - start));
        const double after = ceiling();
        ceilings.push_back((before + after) / 2);
        fractions.push_back(speeds.back() / ceilings.back());
        before = after;
    }
    return {.kernel = {},
            .type = {},
            .shape = {},
            .threads = 0,
            .speed = bench::median(speeds),
            .ceiling = bench::median(ceilings),
            .fraction = bench::median(fractions),
            .bar = 0};
}

void print(const Options& options, const Result& r, const char* unit)
{
    if (options.json)
        std::printf(
            "{\"kernel\":\"%s\",\"type\":\"%s\",\"shape\":\"%s\",\"threads\":%d,\"speed\":%.4g,\"ceiling\":%.4g,"
            "\"fraction\":%.3f,\"bar\":%.2f}\n",
            r.kernel.c_str(), r.type.c_str(), r.shape.c_str(), r.threads, r.speed, r.ceiling, r.fraction, r.bar);
    else
        std::printf("%-6s %-5s %-18s %2d threads  %7.1f of %7.1f %s  %.2f%s\n", r.kernel.c_str(), r.type.c_str(),
                    r.shape.c_str(), r.threads, r.speed / 1e9, r.ceiling / 1e9, unit, r.fraction,
                    r.bar == 0            ? ""
                    : r.fraction >= r.bar ? "  ok"
                                          : "  BELOW ITS BAR");
    std::fflush(stdout);
}

// Weights with random content, because zeros would be unrealistically fast. Repeats a few distinct rows.
struct RandomWeight {
    RandomWeight(Backend& backend, DType type, int64_t rows, int64_t cols)
        : bytes(static_cast<size_t>(rows * row_bytes(type, cols)))
    {
        std::mt19937 random(1);
        const size_t distinct = std::min<size_t>(bytes.size(), static_cast<size_t>(16 * row_bytes(type, cols)));
        if (info(type).block > 1)
            fill_blocks(random, type, distinct);
        else
            fill_values(random, type, distinct);
        for (size_t at = distinct; at < bytes.size(); at += distinct)
            std::copy_n(bytes.begin(), std::min(distinct, bytes.size() - at),
                        bytes.begin() + static_cast<std::ptrdiff_t>(at));
        const HostMatrix matrix{type, bytes.data(), rows, cols, 0};
        weight = backend.load({&matrix, 1});
    }
    void fill_blocks(std::mt19937& random, DType type, size_t count)
    {
        const auto blocks = static_cast<int64_t>(count) / info(type).bytes;
        const auto made = tests::random_blocks(random, type, blocks * info(type).block);
        std::copy(made.begin(), made.end(), bytes.begin());
    }
    void fill_values(std::mt19937& random, DType type, size_t count)
    {
        std::vector<float> values(count / static_cast<size_t>(info(type).bytes));
        for (float& v : values)
            v = static_cast<float>(random()) * 0x1p-32f - 0.5f;
        from_f32(type, values.data(), bytes.data(), static_cast<int64_t>(values.size()));
    }
    std::vector<std::byte> bytes;
    std::unique_ptr<Weight> weight;
};

// Backend memory with constant content.
struct Activations {
    Activations(Backend& backend, int64_t count) : buffer(backend, static_cast<size_t>(count) * sizeof(float))
    {
        std::fill_n(data(), count, 0.37f);
    }
    float* data() const { return buffer.data<float>(); }
    Buffer buffer;
};

std::vector<DType> types_of(const Options& options)
{
    std::vector<DType> types;
    std::istringstream names(options.types);
    for (std::string name; std::getline(names, name, ',');)
        for (int i = 0; i < dtype_count; ++i)
            if (name == info(static_cast<DType>(i)).name) types.push_back(static_cast<DType>(i));
    return types;
}

using Shapes = std::vector<std::pair<int64_t, int64_t>>;

// "768x2048,2048x768"
Shapes shapes_of(const std::string& text)
{
    Shapes shapes;
    std::istringstream in(text);
    for (std::string part; std::getline(in, part, ',');) {
        const size_t by = std::min(part.find('x'), part.size() - 1);
        shapes.emplace_back(std::atoll(part.c_str()), std::atoll(part.c_str() + by + 1));
    }
    return shapes;
}

std::string shape_of(int64_t m, const Weight& w)
{
    return std::to_string(m) + "x" + std::to_string(w.cols()) + "x" + std::to_string(w.rows());
}

void measure_gemm(const Options& options, Backend& backend, ThreadPool& pool, const bench::Clock& clock)
{
    for (const DType type : types_of(options))
        for (const auto& [rows, cols] :
             options.shapes.empty() ? Shapes{{2048, 2048}, {5632, 2048}, {2048, 5632}} : options.shapes) {
            const RandomWeight w(backend, type, rows, cols);
            for (const int64_t m : {16, 64, 128, 256, 512}) {
                const Activations x(backend, m * cols), y(backend, m * rows);
                LinearArgs args;
                args.x = x.data();
                args.rows = m;
                args.weight = w.weight.get();
                args.y = y.data();
                Result r = against_ceiling(
                    options, clock, 2.0 * static_cast<double>(m * rows * cols), [&] { backend.linear(args); },
                    [&] { return bench::fma_peak(pool, clock); });
                r.kernel = "gemm";
                r.type = info(type).name;
                r.shape = shape_of(m, *w.weight);
                r.threads = pool.threads();
                r.bar = m >= 128 ? 0.5 : 0;
                print(options, r, "GFLOP/s");
            }
        }
}

void measure_gemv(const Options& options, Backend& backend, ThreadPool& pool, const bench::Clock& clock,
                  bench::ReadBandwidth& bandwidth)
{
    for (const DType type : types_of(options))
        for (const auto& [rows, cols] :
             options.shapes.empty() ? Shapes{{2048, 2048}, {11264, 2048}, {2048, 5632}} : options.shapes) {
            std::vector<RandomWeight> set;
            size_t bytes = 0;
            while (bytes < bandwidth.bytes()) {
                set.emplace_back(backend, type, rows, cols);
                bytes += set.back().bytes.size();
            }
            const Activations x(backend, cols), y(backend, rows);
            LinearArgs args;
            args.x = x.data();
            args.rows = 1;
            args.y = y.data();
            args.phase = Phase::Decode;
            const auto all = [&] {
                for (const auto& w : set) {
                    args.weight = w.weight.get();
                    backend.linear(args);
                }
            };
            Result r = against_ceiling(options, clock, static_cast<double>(bytes), all,
                                       [&] { return bandwidth(pool, clock); });
            r.kernel = "gemv";
            r.type = info(type).name;
            r.shape = shape_of(1, *set.front().weight);
            r.threads = pool.threads();
            r.bar = type == DType::F32 ? 0 : 0.6;
            print(options, r, "GB/s   ");
        }
}

Options parse(int argc, char** argv)
{
    Options options;
    for (int i = 1; i < argc; ++i) {
        const std::string name = argv[i];
        if (name == "--json" || name == "--cpu-time" || name == "--exact") {
            (name == "--json" ? options.json : name == "--exact" ? options.exact : options.cpu_time) = true;
            continue;
        }
        const char* value = i + 1 < argc ? argv[++i] : "";
        if (name == "--threads")
            options.threads = std::atoi(value);
        else if (name == "--repeats")
            options.repeats = std::max(1, std::atoi(value));
        else if (name == "--simd")
            options.simd = value;
        else if (name == "--only")
            options.only = value;
        else if (name == "--shapes")
            options.shapes = shapes_of(value);
        else if (name == "--types")
            options.types = value;
        else
            throw Error(ErrorKind::Usage, ErrorCode::InvalidArguments, Text("option '{0}'", printable(name)),
                        Text("there is no such option"), Text("see the first lines of {0}", "kernels_bench.cpp"));
    }
    return options;
}

void measure(const Options& options, int threads)
{
    const auto backend =
        open_backend({.device = "cpu", .threads = threads, .simd = options.simd, .exact_products = options.exact});
    ThreadPool pool(threads); // for the ceilings
    const bench::Clock clock(threads, options.cpu_time);
    bench::ReadBandwidth bandwidth;
    bandwidth(pool, clock);
    if (!options.json)
        std::printf("%s, %d threads: f32 peak %.1f GFLOP/s, read %.1f GB/s\n", backend->simd_target().c_str(),
                    threads, bench::fma_peak(pool, clock) / 1e9, bandwidth(pool, clock) / 1e9);
    if (options.only != "gemv") measure_gemm(options, *backend, pool, clock);
    if (options.only != "gemm") measure_gemv(options, *backend, pool, clock, bandwidth);
}

} // namespace

int main(int argc, char** argv)
try {
    const Options options = parse(argc, argv);
    const int most = open_backend()->threads();
    if (options.threads > 0) {
        measure(options, options.threads);
    } else {
        measure(options, 1);
        if (most > 1) measure(options, most);
    }
    return 0;
} catch (const Error& error) {
    std::fprintf(stderr, "kernels-bench: %s\n", error.what());
    return static_cast<int>(error.kind());
}
