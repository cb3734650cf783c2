// best_logits() of the backends that implement it, compared with a plain sort.

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/reference_best_logits.h"
#include "tests/unit/kernels/backends.h"
#include "tests/unit/kernels/kv_fixture.h"

using namespace palimpsest::kernels;
using namespace palimpsest::kernels::test;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

struct Best {
    std::vector<float> logits;
    std::vector<int32_t> ids;
    int32_t first_bad = -1;
};

using Logits = std::vector<float>;

Best best_on(Backend& backend, const Logits& logits, int32_t wanted)
{
    const auto count = static_cast<size_t>(wanted);
    const Buffer from = to_device(backend, logits), best(backend, (count + 1) * sizeof(float)),
                 ids(backend, (count + 1) * sizeof(int32_t)), first_bad(backend, sizeof(int32_t));
    backend.best_logits({.logits = from.data<float>(),
                         .count = std::ssize(logits),
                         .wanted = wanted,
                         .best = best.data<float>(),
                         .ids = ids.data<int32_t>(),
                         .first_bad = first_bad.data<int32_t>()});
    const auto behind = to_host<float>(backend, best, count + 1);
    REQUIRE(behind.back() == 0); // best_logits must write nothing beyond `wanted` entries
    return {to_host<float>(backend, best, count), to_host<int32_t>(backend, ids, count),
            to_host<int32_t>(backend, first_bad, 1)[0]};
}

Best plain(const Logits& logits, int32_t wanted)
{
    Best best{Logits(static_cast<size_t>(wanted)), std::vector<int32_t>(static_cast<size_t>(wanted))};
    reference_best_logits({.logits = logits.data(),
                           .count = std::ssize(logits),
                           .wanted = wanted,
                           .best = best.logits.data(),
                           .ids = best.ids.data(),
                           .first_bad = &best.first_bad});
    return best;
}

void check(const TestBackend& on, const Logits& logits, int32_t wanted)
{
    wanted = std::min<int32_t>(wanted, static_cast<int32_t>(logits.size()));
    CAPTURE(on, logits.size(), wanted);
    const Best found = best_on(*on.open(), logits, wanted), expected = plain(logits, wanted);
    CHECK(found.first_bad == expected.first_bad);
    if (expected.first_bad != std::ssize(logits)) return;
    CHECK(found.ids == expected.ids);
    CHECK(found.logits == expected.logits);
}

std::vector<TestBackend> backends_that_select()
{
    std::vector<TestBackend> all = every_backend();
    // The CPU backend does not implement best_logits().
    std::erase_if(all, [](const TestBackend& on) { return on.kind() == Kind::Cpu; });
    return all;
}

const std::vector<int32_t> all_wanted = {1, 2, 3, 17, 32, 33, 40, 64, 65, 104, 127, 128};

} // namespace

TEST_CASE("the reference orders logits as worked out by hand", "[best]")
{
    const Best best = plain({1, 5, -0.0f, 5, 0, -2}, 5);
    CHECK(best.ids == std::vector<int32_t>{1, 3, 0, 2, 4});
    CHECK(best.logits == Logits{5, 5, 1, 0, 0});
    CHECK(best.first_bad == 6);
    CHECK(plain({1, infinity, -infinity}, 1).first_bad == 1);
}

TEST_CASE("the best logits are those of a plain sort", "[best]")
{
    std::mt19937 random(71);
    for (const TestBackend& on : backends_that_select())
        for (const size_t size : {1, 2, 31, 100, 127, 128, 129, 2047, 2048, 2049, 5000, 32000, 66000, 130000}) {
            if (at_ci_level() && (size == 5000 || size == 66000)) continue;
            const Logits logits = normal_floats(random, size, 4);
            const std::vector<int32_t> few = {1, all_wanted[random() % all_wanted.size()], 128};
            for (const int32_t wanted : (on.emulated() && size > 5000) || at_ci_level() ? few : all_wanted)
                check(on, logits, wanted);
        }
}

TEST_CASE("among equal logits, zeros of both signs included, the lower id is better", "[best]")
{
    std::mt19937 random(72);
    const std::vector<float> values = {-2, -0.0f, 0.0f, 1e-45f, -1e-45f, 3e38f, -3e38f};
    for (const TestBackend& on : backends_that_select())
        for (const size_t size : {1, 100, 2100, 9000}) {
            for (const size_t different : {1, 2, 3, 7}) {
                Logits logits(size);
                for (float& logit : logits)
                    logit = values[(random() % different + (different == 2 ? 1 : 0)) % values.size()];
                for (const int32_t wanted : {1, 7, 128})
                    check(on, logits, wanted);
            }
        }
}

TEST_CASE("the best logits are found in one tile, in the last tile, in ascending and in descending order", "[best]")
{
    constexpr size_t size = 20000;
    const auto made = [](const std::function<float(size_t)>& logit) {
        Logits logits(size);
        for (size_t i = 0; i < size; ++i)
            logits[i] = logit(i);
        return logits;
    };
    const std::vector<Logits> all = {
        made([](size_t i) { return static_cast<float>(i); }), made([](size_t i) { return -static_cast<float>(i); }),
        made([](size_t i) { return static_cast<float>(i / 2048 == 3) + static_cast<float>(i % 5) * 0.1f; }),
        made([](size_t i) { return static_cast<float>(i % 157); }),
        made([](size_t i) { return i >= size - 3 ? -1.0f : -1e30f; })};
    for (const TestBackend& on : backends_that_select())
        for (const Logits& logits : all)
            for (const int32_t wanted : {1, 50, 128})
                check(on, logits, wanted);
}

TEST_CASE("the lowest id whose logit is not finite is found anywhere", "[best]")
{
    std::mt19937 random(73);
    const float nan = std::numeric_limits<float>::quiet_NaN();
    for (const TestBackend& on : backends_that_select())
        for (const size_t size : {1, 100, 2049, 30000}) {
            const Logits logits = normal_floats(random, size);
            for (const size_t place : {size_t{0}, size / 2, size - 1})
                for (const float bad : {nan, -nan, infinity, -infinity}) {
                    if (at_ci_level() && size > 10000 && std::signbit(bad) == (place == 0)) continue;
                    Logits broken = logits;
                    broken[place] = bad;
                    check(on, broken, 40);
                    broken[size - 1] = nan;
                    check(on, broken, 1);
                }
            check(on, Logits(size, nan), 128);
        }
}

#ifdef PALIMPSEST_EMULATED_CUDA
TEST_CASE("the best logits do not depend on the order in which threads and blocks run", "[best]")
{
    std::mt19937 random(74);
    const palimpsest::tests::DescendingOrder order;
    for (const TestBackend& on : backends_that_select())
        for (const size_t size : {100, 9000})
            for (const int32_t wanted : {1, 40, 128}) {
                Logits logits = normal_floats(random, size);
                check(on, logits, wanted);
                for (float& logit : logits)
                    logit = std::round(logit);
                check(on, logits, wanted);
            }
}
#endif

TEST_CASE("working memory does not grow with the number of logits wanted", "[best]")
{
    for (const TestBackend& on : backends_that_select()) {
        const auto backend = on.open();
        const Logits logits(70000, 1.0f);
        best_on(*backend, logits, 1);
        const uint64_t bytes = backend->scratch_bytes();
        for (const int32_t wanted : {2, 40, 128})
            best_on(*backend, logits, wanted);
        CHECK(backend->scratch_bytes() == bytes);
    }
}

TEST_CASE("a replay finds the best of the logits that are in memory when it runs", "[best]")
{
    std::mt19937 random(75);
    for (const TestBackend& on : backends_that_select()) {
        const auto backend = on.open();
        constexpr int32_t wanted = 40;
        Logits logits = normal_floats(random, 5000);
        const Buffer from = to_device(*backend, logits), best(*backend, wanted * sizeof(float)),
                     ids(*backend, wanted * sizeof(int32_t)), first_bad(*backend, sizeof(int32_t));
        const auto operation = [&] {
            backend->best_logits({.logits = from.data<float>(),
                                  .count = std::ssize(logits),
                                  .wanted = wanted,
                                  .best = best.data<float>(),
                                  .ids = ids.data<int32_t>(),
                                  .first_bad = first_bad.data<int32_t>()});
        };
        operation();
        const auto recording = backend->record(operation);
        for (int i = 0; i < 3; ++i) {
            logits = normal_floats(random, logits.size());
            backend->upload(from.data(), logits.data(), logits.size() * sizeof(float));
            REQUIRE(backend->replay(*recording));
            CHECK(to_host<int32_t>(*backend, ids, wanted) == plain(logits, wanted).ids);
            CHECK(to_host<float>(*backend, best, wanted) == plain(logits, wanted).logits);
        }
    }
}
