// Speeds of the CUDA kernels as fractions of the device's ceilings, measured in the same run; prints JSON lines.
//
//   gpu-bench [--seconds N] [--only WORD] [--samples N]    reports the number of cases skipped after N seconds
//   gpu-bench --once      every operation once on small data, for compute-sanitizer
//   gpu-bench --once --own-products    the same without cuBLASLt, whose bulk stores initcheck does not see
//   gpu-bench --probe     describes the device if it is usable
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/base/printable.h"
#include "kernels/cuda/device/cuda_error.h"
#include "kernels/cuda/device/launch_count.h"
#include "kernels/cuda/linear/cublaslt_library.h"
#include "tests/bench/gpu_cases.h"
#include "tests/bench/gpu_ceilings.h"

using namespace palimpsest;
using namespace palimpsest::bench;
using kernels::Phase;
using kernels::cuda::check;
using kernels::cuda::CudaContext;

namespace {

struct Options {
    double seconds = 120;
    std::string only;
    int samples = 5;
    bool once = false, probe = false, own_products = false;
};

struct Case {
    std::string kernel, shape;
    std::string of; // which ceiling the speed is divided by
    std::function<GpuWork()> prepare;
    bool as_graph = false;
    std::string base; // shape of another case of the same kernel; the ratio of the two times is reported
};

std::string type_name(DType type)
{
    return std::string(kernels::info(type).name);
}

std::string escaped(std::string text)
{
    for (char& c : text)
        if (c == '"' || c == '\\' || static_cast<unsigned char>(c) < ' ') c = '\'';
    return text;
}

cudaDeviceProp properties_of(int device)
{
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, device));
    return properties;
}

void print_device(int device)
{
    const cudaDeviceProp p = properties_of(device);
    int driver = 0, runtime = 0;
    size_t free = 0, total = 0;
    check(cudaDriverGetVersion(&driver));
    check(cudaRuntimeGetVersion(&runtime));
    check(cudaMemGetInfo(&free, &total));
    std::printf("{\"device\":\"%s\",\"compute_capability\":\"%d.%d\",\"multiprocessors\":%d,\"l2_bytes\":%d,"
                "\"memory_bytes\":%zu,\"free_bytes\":%zu,\"driver_cuda\":%d,\"runtime_cuda\":%d}\n",
                escaped(p.name).c_str(), p.major, p.minor, p.multiProcessorCount, p.l2CacheSize, total, free,
                driver, runtime);
    std::fflush(stdout);
}

// ---- benchmark cases

struct ModelShape {
    const char* name;
    int32_t dim, heads, kv_heads, head_dim, ffn, vocabulary;
};

constexpr ModelShape models[] = {{"8b", 4096, 32, 8, 128, 14336, 128256}, {"1b", 2048, 32, 8, 64, 8192, 128256}};

class Cases {
public:
    Cases(CudaContext& context, size_t cache_bytes) : context_(context), cache_(cache_bytes) {}

    // In order of importance, because the time limit may skip the last cases.
    std::vector<Case> all()
    {
        for (const DType type : {DType::BF16, DType::Q8_0, DType::Q4_K, DType::Q4_0, DType::Q6_K, DType::F16})
            for (const ModelShape& m : models)
                gemv(m, type);
        for (const ModelShape& m : models)
            decode(m);
        for (const ModelShape& m : models)
            layer(m);
        for (const ModelShape& m : models)
            prefill(m);
        eviction();
        for (const ModelShape& m : models)
            rows(m);
        for (const int64_t inputs : {4096, 512, 128, 16})
            for (const ModelShape& m : models)
                for (const DType type : {DType::BF16, DType::Q8_0, DType::Q4_K})
                    gemm(m, type, inputs);
        std::stable_partition(cases_.begin(), cases_.end(), is_telling);
        return std::move(cases_);
    }

private:
    // Selects the most important cases: decode and prefill of bf16 models at a budget of 2048, and one product of
    // each weight type.
    static bool is_telling(const Case& c)
    {
        const auto has = [&](const char* part) { return c.shape.find(part) != std::string::npos; };
        if (c.kernel == "gemv" && has("8b output")) return true; // for every weight type
        if (c.kernel == "gemv" || c.kernel == "ffn decode") return has("bf16");
        if (c.kernel == "gemm" || c.kernel == "ffn prefill") return has("bf16 4096");
        return has(" n 2047") || ((c.kernel == "prefill" || c.kernel == "compact") && has(" n 2048")) ||
               ((c.kernel == "evict" || c.kernel == "accumulate") && has("n 2048"));
    }
    void linear(const std::string& what, const LinearCase& shape)
    {
        const bool one = shape.inputs == 1;
        cases_.push_back({.kernel = one ? "gemv" : "gemm",
                          .shape = what + " " + type_name(shape.type) + " " + std::to_string(shape.inputs) + "x" +
                                   std::to_string(shape.cols) + "x" + std::to_string(shape.rows),
                          .of = one ? "copy" : "bf16 gemm",
                          .prepare = [=, this] { return linear_work(context_, shape, one ? cache_ : 0); },
                          .as_graph = one,
                          .base = {}});
    }
    void feed_forward(const ModelShape& m, DType type, int64_t inputs)
    {
        const bool one = inputs == 1;
        const LinearCase shape{type, m.ffn, m.dim, inputs, one ? Phase::Decode : Phase::Prefill, true};
        cases_.push_back(
            {.kernel = one ? "ffn decode" : "ffn prefill",
             .shape = std::string(m.name) + " " + type_name(type) + " " + std::to_string(inputs) + " rows",
             .of = one ? "copy" : "bf16 gemm",
             .prepare = [=, this] { return feed_forward_work(context_, shape, one ? cache_ : 0); },
             .as_graph = one,
             .base = {}});
    }
    void gemv(const ModelShape& m, DType type)
    {
        const int64_t qkv = (m.heads + 2 * m.kv_heads) * m.head_dim, heads = m.heads * m.head_dim;
        const std::string name = m.name;
        linear(name + " qkv", {type, qkv, m.dim, 1, Phase::Decode, true});
        linear(name + " output", {type, m.dim, heads, 1, Phase::Decode, false});
        feed_forward(m, type, 1);
        linear(name + " vocabulary", {type, m.vocabulary, m.dim, 1, Phase::Decode, true});
    }
    void gemm(const ModelShape& m, DType type, int64_t inputs)
    {
        const int64_t qkv = (m.heads + 2 * m.kv_heads) * m.head_dim, heads = m.heads * m.head_dim;
        const std::string name = m.name;
        linear(name + " qkv", {type, qkv, m.dim, inputs, Phase::Prefill, true});
        linear(name + " output", {type, m.dim, heads, inputs, Phase::Prefill, false});
        feed_forward(m, type, inputs);
    }
    AttentionCase attention(const ModelShape& m, int32_t used, int32_t rows) const
    {
        AttentionCase shape;
        shape.kv_heads = m.kv_heads, shape.group = m.heads / m.kv_heads, shape.head_dim = m.head_dim;
        shape.used = used, shape.rows = rows;
        return shape;
    }
    void prefill(const ModelShape& m)
    {
        constexpr std::pair<Signals, const char*> kinds[] = {
            {Signals::None, "none"}, {Signals::LastRows, "last 32 rows"}, {Signals::AllRows, "all rows"}};
        for (const int32_t used : {2048, 1024, 8192, 256}) {
            const std::string at = std::string(m.name) + " n " + std::to_string(used) + " b 512, signals ";
            for (const auto& [signals, name] : kinds) {
                AttentionCase shape = attention(m, used, 512);
                shape.signals = signals;
                cases_.push_back({.kernel = "prefill",
                                  .shape = at + name,
                                  .of = "bf16 gemm",
                                  .prepare = [=, this] { return prefill_work(context_, shape); },
                                  .as_graph = false,
                                  .base = at + "none"});
            }
        }
    }
    void decode(const ModelShape& m)
    {
        for (const int32_t used : {2047, 1023, 8191, 256}) {
            const std::string at = std::string(m.name) + " n " + std::to_string(used);
            for (const int kind : {0, 1, 2}) {
                AttentionCase shape = attention(m, used, 1);
                shape.signals = kind == 1 ? Signals::AllRows : Signals::None;
                shape.shuffled = kind == 2;
                cases_.push_back({.kernel = "decode",
                                  .shape = at + (kind == 1   ? ", sums"
                                                 : kind == 2 ? ", any order"
                                                             : ""),
                                  .of = "copy",
                                  .prepare = [=, this] { return decode_work(context_, shape, cache_); },
                                  .as_graph = true,
                                  .base = at});
            }
        }
    }
    // One layer of a decoded token, with or without eviction of one token per list.
    void layer(const ModelShape& m)
    {
        for (const DType type : {DType::BF16, DType::Q8_0}) {
            const std::string at = std::string(m.name) + " " + type_name(type) + " n 2047";
            for (const bool evicts : {false, true}) {
                LayerCase shape{attention(m, 2047, 1), type, m.dim, m.ffn};
                if (evicts) shape.attention.signals = Signals::AllRows;
                cases_.push_back({.kernel = "decode layer",
                                  .shape = at + (evicts ? ", evicts" : ""),
                                  .of = "copy",
                                  .prepare = [=, this] { return layer_work(context_, shape, cache_); },
                                  .as_graph = true,
                                  .base = at});
            }
        }
    }
    void rows(const ModelShape& m)
    {
        const std::string name = m.name;
        const auto add = [&](const char* kernel, const std::string& shape, std::function<GpuWork()> prepare) {
            cases_.push_back({kernel, shape, "copy", std::move(prepare), false, {}});
        };
        for (const int32_t used : {1024, 2048, 8192}) {
            const AttentionCase shape = attention(m, used, 512);
            const std::string at = name + " n " + std::to_string(used);
            add("compact", at + " b 512", [=, this] { return compact_work(context_, shape); });
            add("drop", at + " one", [=, this] { return drop_work(context_, shape, 1); });
            add("drop", at + " 256", [=, this] { return drop_work(context_, shape, 256); });
            add("straighten", at + " straight", [=, this] { return defragment_work(context_, shape); });
        }
        add("stage", name + " b 512", [=, this] { return stage_work(context_, attention(m, 0, 512)); });
        add("gather", name + " n 2048", [=, this] { return gather_work(context_, attention(m, 2048, 1)); });
        add("retrieval", name + " n 16384",
            [=, this] { return retrieval_work(context_, attention(m, 16384, 1), 0); });
    }

    // One layer with 8 KV heads, as in both models.
    void eviction()
    {
        const auto add = [&](const std::string& shape, const EvictionCase& layer) {
            cases_.push_back({"accumulate",
                              shape,
                              "copy",
                              [=, this] { return accumulate_work(context_, layer); },
                              layer.rows == 1,
                              {}});
            for (const bool tiles : {false, true}) {
                EvictionCase by_rule = layer;
                by_rule.tiles = tiles;
                cases_.push_back({"evict",
                                  shape + (tiles ? ", tiles" : ", lowest"),
                                  "copy",
                                  [=, this] { return evict_work(context_, by_rule); },
                                  layer.rows == 1,
                                  {}});
            }
        };
        for (const int32_t budget : {2048, 1024, 8192}) {
            const std::string at = "n " + std::to_string(budget);
            add(at + " b 1", {.size = budget + 1, .rows = 1, .evicted = 1});
            add(at + " b 512", {.size = budget + 512, .rows = 512, .evicted = 512});
        }
    }

    CudaContext& context_;
    size_t cache_;
    std::vector<Case> cases_;
};

double seconds_since_start()
{
    static const auto start = std::chrono::steady_clock::now();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

class Bench {
public:
    Bench(const Options& options, CudaContext& context)
        : options_(options), context_(context), timer_(context, options.samples)
    {
    }

    // Returns false if a case failed.
    bool run()
    {
        measure_ceilings();
        const auto cache = static_cast<size_t>(properties_of(context_.device()).l2CacheSize);
        int left_out = 0;
        Cases cases(context_, 4 * cache); // outlives the loop: the cases capture `this`
        for (const Case& c : cases.all()) {
            if (!options_.only.empty() && (c.kernel + " " + c.shape).find(options_.only) == std::string::npos)
                continue;
            if (seconds_since_start() > options_.seconds || kernels::cuda::device_failed())
                ++left_out;
            else
                measure(c);
        }
        if (left_out > 0) std::printf("{\"left_out\":%d}\n", left_out);
        return whole_;
    }

private:
    void ceiling(const char* name, double value, const char* unit)
    {
        ceilings_[name] = value;
        std::printf("{\"ceiling\":\"%s\",\"value\":%.5g,\"unit\":\"%s\"}\n", name, value, unit);
        std::fflush(stdout);
    }
    void measure_ceilings()
    {
        ceiling("copy", copy_bandwidth(context_, timer_), "GB/s");
        std::string why;
        if (const auto rate = bf16_product_rate(context_, timer_, why))
            ceiling("bf16 gemm", *rate, "GFLOP/s");
        else
            std::printf("{\"no_ceiling\":\"bf16 gemm\",\"why\":\"%s\"}\n", escaped(why).c_str());
    }
    void measure(const Case& c)
    {
        std::printf("{\"kernel\":\"%s\",\"shape\":\"%s\",", c.kernel.c_str(), c.shape.c_str());
        try {
            const GpuWork work = c.prepare();
            const GpuSample sample = timer_.measure(work.body, work.set, c.as_graph);
            print(c, work, sample);
        } catch (const Error& error) {
            whole_ = false;
            std::printf("\"error\":\"%s\"}\n", escaped(error.what()).c_str());
        }
        std::fflush(stdout);
    }
    void print(const Case& c, const GpuWork& work, const GpuSample& sample)
    {
        const double speed = work.work / sample.seconds;
        std::printf("\"seconds\":%.5g,\"least\":%.5g,\"most\":%.5g,\"graph\":%s,\"speed\":%.5g,\"unit\":\"%s\"",
                    sample.seconds, sample.least, sample.most, sample.graph ? "true" : "false", speed,
                    c.of == "copy" ? "GB/s" : "GFLOP/s");
        if (sample.graph) std::printf(",\"launches\":%.4g", sample.launches);
        if (const auto found = ceilings_.find(c.of); found != ceilings_.end())
            std::printf(",\"of\":\"%s\",\"fraction\":%.4g", c.of.c_str(), speed / found->second);
        seconds_[c.kernel + c.shape] = sample.seconds;
        if (const auto base = seconds_.find(c.kernel + c.base); base != seconds_.end() && c.base != c.shape)
            std::printf(",\"of_base\":%.4g,\"base\":\"%s\"", sample.seconds / base->second, c.base.c_str());
        std::printf("}\n");
    }

    Options options_;
    CudaContext& context_;
    GpuTimer timer_;
    std::map<std::string, double> ceilings_, seconds_;
    bool whole_ = true;
};

// ---- every operation once

std::vector<AttentionCase> small_attention()
{
    std::vector<AttentionCase> cases;
    for (const int32_t dim : {64, 128, 20})
        for (const DType type : {DType::F16, DType::BF16, DType::F32}) {
            AttentionCase c;
            c.kv_heads = 2, c.group = 3, c.head_dim = dim, c.type = type;
            c.used = 130, c.rows = 70;
            c.signals = Signals::Every;
            c.ragged = true;
            c.keys_rotated = type == DType::F16;
            cases.push_back(c);
        }
    return cases;
}

class Once {
public:
    explicit Once(CudaContext& context) : context_(context) {}

    bool run()
    {
        for (int type = 0; type < kernels::dtype_count; ++type)
            products(static_cast<DType>(type));
        for (const AttentionCase& shape : small_attention())
            attention(shape);
        for (const int32_t rows : {1, 40})
            for (const bool tiles : {false, true}) {
                const EvictionCase layer{
                    .kv_heads = 3, .size = 130 + rows, .rows = rows, .evicted = rows, .tiles = tiles};
                const std::string name = std::to_string(rows) + (tiles ? " tiles" : " lowest");
                call("accumulate " + name, [&] { return accumulate_work(context_, layer); });
                call("evict " + name, [&] { return evict_work(context_, layer); });
            }
        return whole_;
    }

private:
    void products(DType type)
    {
        const std::string name = type_name(type);
        const bool super = kernels::info(type).block == kernels::super_block; // widths must be whole blocks
        for (const int64_t inputs : {1, 3, 70}) {
            const Phase phase = inputs == 1 ? Phase::Decode : Phase::Prefill;
            const LinearCase shape{type, 200, super ? 256 : 192, inputs, phase, true};
            call("linear " + name, [&] { return linear_work(context_, shape, 0); });
            const LinearCase ffn{type, super ? 256 : 160, super ? 256 : 96, inputs, phase, true};
            call("feed_forward " + name, [&] { return feed_forward_work(context_, ffn, 0); });
        }
        call("embed " + name, [&] { return embed_work(context_, type, 50, super ? 256 : 64, 5); });
    }
    void attention(const AttentionCase& shape)
    {
        const std::string name = std::to_string(shape.head_dim) + " " + type_name(shape.type);
        AttentionCase shuffled = shape;
        shuffled.shuffled = true;
        call("stage " + name, [&] { return stage_work(context_, shape); });
        call("attend " + name, [&] { return prefill_work(context_, shape); });
        call("decode_attend " + name, [&] { return decode_work(context_, shuffled, 0); });
        call("layer " + name, [&] {
            AttentionCase token = shuffled;
            token.signals = Signals::AllRows;
            return layer_work(context_, {token, DType::BF16, 96, 160}, 0);
        });
        call("compact " + name, [&] { return compact_work(context_, shape); });
        call("drop " + name, [&] { return drop_work(context_, shuffled, 5); });
        call("straighten " + name, [&] { return defragment_work(context_, shuffled); });
        call("gather " + name, [&] { return gather_work(context_, shuffled); });
        call("bound_pages " + name, [&] {
            AttentionCase in_order = shape;
            in_order.ragged = false;
            return retrieval_work(context_, in_order, 0.9);
        });
    }
    void call(const std::string& name, const std::function<GpuWork()>& prepare)
    {
        std::printf("{\"once\":\"%s\"", name.c_str());
        try {
            const GpuWork work = prepare();
            const uint64_t before = kernels::cuda::launches_so_far;
            work.body(0);
            context_.finish();
            std::printf(",\"launches\":%llu}\n",
                        static_cast<unsigned long long>(kernels::cuda::launches_so_far - before));
        } catch (const Error& error) {
            whole_ = false;
            std::printf(",\"error\":\"%s\"}\n", escaped(error.what()).c_str());
        }
        std::fflush(stdout);
    }

    CudaContext& context_;
    bool whole_ = true;
};

bool* flag_named(const std::string& name, Options& options)
{
    if (name == "--once") return &options.once;
    if (name == "--probe") return &options.probe;
    return name == "--own-products" ? &options.own_products : nullptr;
}

Options parse(int argc, char** argv)
{
    Options options;
    for (int i = 1; i < argc; ++i) {
        const std::string name = argv[i];
        if (bool* flag = flag_named(name, options)) {
            *flag = true;
            continue;
        }
        const char* value = i + 1 < argc ? argv[++i] : "";
        if (name == "--seconds")
            options.seconds = std::atof(value);
        else if (name == "--only")
            options.only = value;
        else if (name == "--samples")
            options.samples = std::max(1, std::atoi(value));
        else
            throw Error(ErrorKind::Usage, ErrorCode::InvalidArguments, Text("option '{0}'", printable(name)),
                        Text("there is no such option"), Text("see the first lines of {0}", "gpu_bench.cpp"));
    }
    return options;
}

} // namespace

int main(int argc, char** argv)
try {
    const Options options = parse(argc, argv);
    seconds_since_start();
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        std::fprintf(stderr, "gpu-bench: no device can be used\n");
        return 77;
    }
    CudaContext context(0);
    print_device(0);
    if (options.probe) return context.finish(), 0;
    if (options.own_products) kernels::cuda::disable_cublaslt();
    const bool whole = options.once ? Once(context).run() : Bench(options, context).run();
    return whole ? 0 : 1;
} catch (const Error& error) {
    std::fprintf(stderr, "gpu-bench: %s\n", error.what());
    return static_cast<int>(error.kind());
}
