// A warm session allocates nothing to decode a token or to read a chunk.
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <new>

#include "engine/session/session.h"
#include "tests/support/catch.h"
#include "tests/support/random_model.h"

namespace {

std::atomic<int64_t> allocations{0};

} // namespace

void* operator new(size_t bytes)
{
    ++allocations;
    if (void* memory = std::malloc(bytes ? bytes : 1)) return memory;
    throw std::bad_alloc();
}
void operator delete(void* memory) noexcept
{
    std::free(memory);
}
void operator delete(void* memory, size_t) noexcept
{
    std::free(memory);
}

using namespace palimpsest;
using namespace palimpsest::engine;

TEST_CASE("planning an eviction allocates nothing after a longer one was planned")
{
    for (const std::string spec :
         {"streaming", "h2o", "knorm", "keydiff", "tova", "scissorhands:drop=0.2", "treekv", "treekv:rule=left",
          "treekv:height=3", "treekv-log", "treekv-block:unit=4", "lacache", "lacache:survivors=score", "full"}) {
        INFO(spec);
        const auto policy =
            make_policy(PolicySpec::parse(spec), {.layers = 4, .kv_heads = 2, .budget = 100, .chunk = 64});
        EvictionPlan plan;
        std::vector<uint32_t> sizes(8, 0);
        // Appends `tokens` tokens to every list, drops what the plan says, and returns the number of allocations.
        const auto step = [&](uint32_t tokens) {
            const int64_t before = allocations;
            for (int32_t layer = 0; layer < 4; ++layer) {
                const auto own = std::span(sizes).subspan(static_cast<size_t>(layer) * 2, 2);
                for (uint32_t& size : own)
                    size += tokens;
                policy->plan(layer, own, {}, plan);
                for (size_t h = 0; h < own.size(); ++h)
                    own[h] -= plan.list(h).evicted;
            }
            return allocations - before;
        };
        REQUIRE(policy->plans());
        for (uint32_t i = 0; i < 20; ++i)
            step(100 + i);
        int64_t allocated = 0;
        for (int i = 0; i < 300; ++i)
            allocated += step(i % 10 == 0 ? 64 : 1);
        // The lists of `full` keep growing, but its plans do not depend on them.
        CHECK(allocated == 0);
    }
}

TEST_CASE("a warm stream allocates nothing per token")
{
    const auto path = tests::random_model({});
    const std::shared_ptr<const Model> model =
        Model::load(path, kernels::open_backend({.device = "cpu", .threads = 2, .simd = ""}));
    std::filesystem::remove(path);
    for (const std::string policy : {"treekv", "treekv-log", "streaming", "lacache"}) {
        SessionOptions options;
        options.policy = PolicySpec::parse(policy);
        options.budget = 64;
        options.chunk = 16;
        Session session(model, options);
        const auto generated = [&](int32_t tokens) {
            const int64_t before = allocations;
            session.generate({.max_tokens = tokens, .stop = {}, .token = {}, .is_end = {}});
            return allocations - before;
        };
        const std::vector<TokenId> text(400, 7);
        const auto fed = [&](size_t tokens) {
            const int64_t before = allocations;
            session.feed(std::span(text).first(tokens));
            return allocations - before;
        };
        fed(400);
        generated(300); // enough tokens for displaced rows to be defragmented once
        fed(400);
        INFO(policy);
        CHECK(generated(250) <= generated(10) + 6); // the list of generated tokens grows
        // 400 tokens are 24 chunks more than 16 tokens, all in one super-chunk.
        CHECK(fed(400) <= fed(16) + 6);
    }
}
