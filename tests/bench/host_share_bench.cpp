// Host time of a generated token with a device-resident cache, on a device that computes nothing, so that all time
// is the host's. Also reports the part before the device can start; the rest runs concurrently with the device.
//
//   host-share-bench [--layers N] [--kv-heads N] [--budget N] [--tokens N]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <random>
#include <vector>

#include "engine/session/session.h"
#include "tests/bench/median.h"
#include "tests/support/random_model.h"

using namespace palimpsest;
using namespace palimpsest::engine;
using palimpsest::bench::median;

namespace {

using Clock = std::chrono::steady_clock;

class NothingRecorded final : public kernels::Recording {};

// A backend that computes nothing and evicts the oldest candidates, whatever the policy's selection rule.
class IdleBackend final : public kernels::Backend {
public:
    std::string name() const override { return "idle"; }
    std::string simd_target() const override { return "none"; }
    int threads() const override { return 1; }
    uint64_t scratch_bytes() const override { return 0; }
    void upload(void* to, const void* from, size_t bytes) override { std::memcpy(to, from, bytes); }
    void download(void* to, const void* from, size_t bytes) override { std::memcpy(to, from, bytes); }
    void copy(void*, const void*, size_t) override {}
    void set_stop(std::stop_token) override {}
    std::unique_ptr<kernels::Weight> load(std::span<const kernels::HostMatrix> parts) override
    {
        class Shape final : public kernels::Weight {
        public:
            explicit Shape(std::span<const kernels::HostMatrix> matrices)
            {
                cols_ = matrices.front().cols;
                for (const auto& matrix : matrices)
                    rows_ += matrix.rows;
            }
        };
        return std::make_unique<Shape>(parts);
    }
    void embed(const kernels::EmbedArgs&) override {}
    void linear(const kernels::LinearArgs&) override {}
    void feed_forward(const kernels::FeedForwardArgs&) override {}
    void prepare_heads(const kernels::PrepareHeadsArgs&) override {}
    void stage(const kernels::StageArgs&) override {}
    void attend(const kernels::AttendArgs&) override {}
    void decode_attend(const kernels::DecodeAttendArgs&) override {}
    void bound_pages(const kernels::BoundPagesArgs&) override {}
    void compact(const kernels::CompactArgs&) override {}
    void drop(const kernels::DropArgs&) override {}
    void defragment(const kernels::DefragmentArgs&) override {}
    void gather(const kernels::GatherArgs&) override {}
    bool selects() const override { return true; }
    void evict(const kernels::EvictArgs& args) override
    {
        evictions_.push_back(args);
        if (!recording_) drop_oldest();
    }
    void best_logits(const kernels::BestLogitsArgs& args) override
    {
        *args.first_bad = static_cast<int32_t>(args.count);
    }
    std::unique_ptr<kernels::Recording> record(const std::function<void()>& operations) override
    {
        recording_ = true;
        operations();
        recording_ = false;
        recorded_ = std::exchange(evictions_, {});
        return std::make_unique<NothingRecorded>();
    }
    bool replay(const kernels::Recording&) override
    {
        started = Clock::now();
        evictions_ = recorded_;
        drop_oldest();
        return true;
    }
    // Stands for the device's work; the measurement excludes its time.
    void drop_oldest()
    {
        const auto from = Clock::now();
        for (const kernels::EvictArgs& args : evictions_)
            for (int32_t h = 0; h < args.kv_heads; ++h) {
                const auto* list = reinterpret_cast<const kernels::ListPlan*>(args.plan) + h;
                for (uint32_t i = 0; i < list->evicted; ++i)
                    args.dropped[h * args.dropped_stride + i] = list->first + i;
            }
        evictions_.clear();
        device += Clock::now() - from;
    }

    Clock::time_point started;
    Clock::duration device{};

private:
    void* allocate(size_t bytes) override { return std::calloc(bytes, 1); }
    void release(void* data, size_t) noexcept override { std::free(data); }

    bool recording_ = false;
    std::vector<kernels::EvictArgs> evictions_, recorded_;
};

int32_t option(int argc, char** argv, const char* name, int32_t otherwise)
{
    for (int i = 1; i + 1 < argc; i += 2)
        if (std::strcmp(argv[i], name) == 0) return std::atoi(argv[i + 1]);
    return otherwise;
}

double microseconds(Clock::duration time)
{
    return std::chrono::duration<double, std::micro>(time).count();
}

void measure(const std::string& policy, const std::shared_ptr<const Model>& model, IdleBackend& device,
             int32_t budget, int32_t tokens)
{
    SessionOptions options;
    options.policy = PolicySpec::parse(policy);
    options.budget = budget;
    Session session(model, options);
    uint64_t faded = 0;
    session.set_eviction_sink([&](std::span<const EvictionEvent> events) { faded += events.size(); });
    const std::vector<TokenId> chunk(512, 1);
    for (int32_t fed = 0; fed < budget + 1024; fed += 512)
        session.feed(chunk);
    session.generate({.max_tokens = 8, .stop = {}, .token = {}, .is_end = {}});
    std::vector<double> whole, before;
    for (int32_t i = 0; i < tokens; ++i) {
        device.device = {};
        const auto start = Clock::now();
        session.generate({.max_tokens = 1, .stop = {}, .token = {}, .is_end = {}});
        whole.push_back(microseconds(Clock::now() - start - device.device));
        before.push_back(microseconds(device.started - start));
    }
    std::printf("%-14s token %8.1f us, of it before the device starts %8.1f us  (faded %llu)\n", policy.c_str(),
                median(whole), median(before), static_cast<unsigned long long>(faded));
}

} // namespace

int main(int argc, char** argv)
{
    tests::RandomModelShape shape;
    shape.layers = option(argc, argv, "--layers", 32);
    shape.kv_heads = option(argc, argv, "--kv-heads", 8);
    shape.heads = shape.kv_heads;
    shape.context = 1 << 16;
    const auto path = tests::random_model(shape);
    auto backend = std::make_unique<IdleBackend>();
    IdleBackend& device = *backend;
    const std::shared_ptr<const Model> model = Model::load(path, std::move(backend));
    std::filesystem::remove(path);
    for (const char* policy : {"streaming", "h2o", "snapkv", "treekv", "treekv-log", "lacache"})
        measure(policy, model, device, option(argc, argv, "--budget", 2048), option(argc, argv, "--tokens", 200));
}
