// Consecutive products of a recording, which may overlap (kernels/cuda/device/device.h), must give the same bits as
// the same products run one by one.

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <random>
#include <vector>

#include "kernels/backend.h"
#include "tests/support/catch.h"
#include "tests/unit/kernels/backends.h"
#include "tests/unit/kernels/linear_case.h"

namespace palimpsest::kernels {
namespace {

using namespace test;

std::vector<float> not_written(int64_t floats)
{
    return std::vector<float>(static_cast<size_t>(floats), std::numeric_limits<float>::quiet_NaN());
}

// A chain of products with weights of many types. Each is applied to the previous result: one from x to `wide`, the
// next from `wide` back, accumulated onto x.
class Products {
public:
    Products(Backend& backend, int64_t dim, int64_t wide)
        : backend_(backend), start_(normal_floats(random_, static_cast<size_t>(dim))),
          x_(to_device(backend, start_)), wide_(to_device(backend, not_written(wide))),
          norm_(to_device(backend, start_))
    {
        for (const DType type : {DType::F16, DType::BF16, DType::Q8_0, DType::Q4_0, DType::Q2_K, DType::Q4_K,
                                 DType::Q6_K, DType::MXFP4})
            for (const bool up : {true, false}) {
                const Stored stored(random_, type, up ? wide : dim, up ? dim : wide);
                weights_.push_back(backend.load({&stored.matrix, 1}));
            }
    }

    void prepare()
    {
        backend_.upload(x_.data(), start_.data(), x_.bytes());
        backend_.upload(wide_.data(), not_written(floats(wide_)).data(), wide_.bytes());
    }
    void queue()
    {
        for (size_t i = 0; i < weights_.size(); ++i) {
            const bool up = i % 2 == 0;
            backend_.linear({.x = (up ? x_ : wide_).data<float>(),
                             .rows = 1,
                             .norm = up ? RmsNorm{norm_.data<float>(), 1e-5f} : RmsNorm{},
                             .weight = weights_[i].get(),
                             .y = (up ? wide_ : x_).data<float>(),
                             .accumulate = !up,
                             .phase = Phase::Decode});
        }
    }
    std::vector<float> result() const { return to_host<float>(backend_, x_, static_cast<size_t>(floats(x_))); }

private:
    static int64_t floats(const Buffer& buffer) { return static_cast<int64_t>(buffer.bytes() / sizeof(float)); }

    Backend& backend_;
    std::mt19937 random_{83};
    std::vector<float> start_;
    Buffer x_, wide_, norm_;
    std::vector<std::unique_ptr<Weight>> weights_;
};

// The wide products read x in two tiles (kernels/cuda/linear/gemv.cu). On a real GPU, a race shows only now and
// then, so the test repeats the replay.
TEST_CASE("replayed products wait for those that they overlap", "[recording]")
{
    for (const TestBackend& on : every_backend()) {
        CAPTURE(on);
        const auto opened = on.open();
        Backend& backend = *opened;
        if (!backend.selects()) continue; // backends that do not evict by themselves cannot record either
        const bool card = on.kind() == Kind::Cuda;
        Products products(backend, card ? 4096 : 256, card ? 6144 : 4352);
        products.prepare();
        products.queue();
        const auto expected = products.result();
        REQUIRE(std::all_of(expected.begin(), expected.end(), [](float x) { return std::isfinite(x); }));
        const auto recording = backend.record([&] { products.queue(); });
        REQUIRE(recording);
        for (int time = 0; time < (card ? 50 : 1); ++time) {
            CAPTURE(time);
            products.prepare();
            REQUIRE(backend.replay(*recording));
            REQUIRE((products.result() == expected)); // all are finite
        }
    }
}

} // namespace
} // namespace palimpsest::kernels
