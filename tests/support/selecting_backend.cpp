#include "tests/support/selecting_backend.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

#include "tests/support/reference_best_logits.h"
#include "tests/support/reference_eviction.h"

namespace palimpsest::tests {
namespace {

using namespace kernels;

using Operations = std::vector<std::function<void()>>;

class RecordedOperations final : public Recording {
public:
    explicit RecordedOperations(Operations taken) : operations(std::move(taken)) {}
    Operations operations;
};

class EvictingBackend final : public Backend {
public:
    EvictingBackend(int threads, SelectingBackendUse& use)
        : cpu_(open_backend({.device = "cpu", .threads = threads, .simd = ""})), use_(use)
    {
    }

    std::string name() const override { return cpu_->name(); }
    std::string simd_target() const override { return cpu_->simd_target(); }
    int threads() const override { return cpu_->threads(); }
    uint64_t scratch_bytes() const override { return cpu_->scratch_bytes(); }
    void set_stop(std::stop_token stop) override { cpu_->set_stop(std::move(stop)); }
    std::unique_ptr<Weight> load(std::span<const HostMatrix> parts) override { return cpu_->load(parts); }

    void upload(void* to, const void* from, size_t bytes) override { cpu_->upload(to, from, bytes); }
    void download(void* to, const void* from, size_t bytes) override
    {
        ++use_.downloads;
        cpu_->download(to, from, bytes);
    }

    void copy(void* to, const void* from, size_t bytes) override
    {
        run([=, this] { cpu_->copy(to, from, bytes); });
    }
    void embed(const EmbedArgs& args) override
    {
        run([=, this] {
            EmbedArgs now = args;
            if (args.device_id) now.ids = {args.device_id, 1};
            cpu_->embed(now);
        });
    }
    void linear(const LinearArgs& args) override
    {
        run([=, this] { cpu_->linear(args); });
    }
    bool has_experts() const override { return cpu_->has_experts(); }
    void prepare_heads(const PrepareHeadsArgs& args) override
    {
        run([=, this] { cpu_->prepare_heads(args); });
    }
    void experts(const ExpertsArgs& args) override
    {
        run([=, this] { cpu_->experts(args); });
    }
    void feed_forward(const FeedForwardArgs& args) override
    {
        run([=, this] { cpu_->feed_forward(args); });
    }
    void decode_attend(const DecodeAttendArgs& args) override
    {
        run([=, this] {
            DecodeAttendArgs now = args;
            if (args.lists.device_used) now.lists.used = args.lists.device_used;
            cpu_->decode_attend(now);
        });
    }
    void accumulate(const AccumulateArgs& args) override
    {
        run([=] { test::reference_accumulate(args); });
    }
    void evict(const EvictArgs& args) override
    {
        run([=, this] {
            ++use_.evictions;
            test::reference_evict(args);
        });
    }

    void best_logits(const BestLogitsArgs& args) override
    {
        run([=] { test::reference_best_logits(args); });
    }

    void stage(const StageArgs& args) override { cpu_->stage(args); }
    void attend(const AttendArgs& args) override { cpu_->attend(args); }
    void bound_pages(const BoundPagesArgs& args) override { cpu_->bound_pages(args); }
    void compact(const CompactArgs& args) override
    {
        CompactArgs now = args;
        if (args.device_kept)
            now.kept = args.device_kept;
        else
            ++use_.host_evictions;
        cpu_->compact(now);
    }
    void drop(const DropArgs& args) override
    {
        ++use_.host_evictions;
        cpu_->drop(args);
    }
    void defragment(const DefragmentArgs& args) override { cpu_->defragment(args); }
    void gather(const GatherArgs& args) override { cpu_->gather(args); }

    bool selects() const override { return true; }
    std::unique_ptr<Recording> record(const std::function<void()>& operations) override
    {
        Operations taken;
        recording_ = &taken;
        operations();
        recording_ = nullptr;
        ++use_.recorded;
        return std::make_unique<RecordedOperations>(std::move(taken));
    }
    bool replay(const Recording& recording) override
    {
        ++(use_.refuse_replays ? use_.refused : use_.replayed);
        if (use_.refuse_replays) return false;
        for (const auto& operation : static_cast<const RecordedOperations&>(recording).operations)
            operation();
        return true;
    }

private:
    template<class Operation>
    void run(Operation operation)
    {
        if (recording_)
            recording_->push_back(operation);
        else
            operation();
    }
    void* allocate(size_t bytes) override
    {
        constexpr size_t alignment = 64;
        const size_t rounded = (bytes + alignment - 1) / alignment * alignment;
        void* memory = std::aligned_alloc(alignment, rounded);
        std::memset(memory, 0, rounded);
        use_.held_bytes += static_cast<int64_t>(bytes);
        use_.peak_bytes = std::max(use_.peak_bytes, use_.held_bytes);
        return memory;
    }
    void release(void* data, size_t bytes) noexcept override
    {
        if (data) use_.held_bytes -= static_cast<int64_t>(bytes);
        std::free(data);
    }

    std::unique_ptr<Backend> cpu_;
    SelectingBackendUse& use_;
    Operations* recording_ = nullptr;
};

} // namespace

std::unique_ptr<Backend> open_selecting_backend(int threads, SelectingBackendUse& use)
{
    return std::make_unique<EvictingBackend>(threads, use);
}

} // namespace palimpsest::tests
