// Weights and calls of matrix products for the tests of linear() and of the operations built on it.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "kernels/backend.h"
#include "kernels/base/convert.h"
#include "kernels/cpu/kernels.h"
#include "tests/support/catch.h"
#include "tests/support/random_blocks.h"
#include "tests/unit/kernels/backends.h"
#include "tests/unit/kernels/kv_fixture.h"

namespace palimpsest::kernels::test {

inline constexpr DType all_types[] = {DType::F32, DType::F16, DType::BF16, DType::Q8_0};
inline constexpr unsigned seed = 20240607;

inline std::vector<float> random_floats(std::mt19937& random, int64_t count, float size = 1.0f)
{
    std::normal_distribution<float> normal(0.0f, size);
    std::vector<float> values(static_cast<size_t>(count));
    for (float& v : values)
        v = normal(random);
    return values;
}

// Rows of random weights, as a file stores them.
struct Stored {
    Stored(std::mt19937& random, DType type, int64_t rows, int64_t cols, int32_t paired = 0)
        : matrix{type, nullptr, rows, cols, paired}, bytes(static_cast<size_t>(rows * row_bytes(type, cols)))
    {
        if (type == DType::Q8_0) {
            std::uniform_int_distribution<int> q(-127, 127);
            for (size_t at = 0; at < bytes.size(); at += sizeof(BlockQ8_0)) {
                BlockQ8_0 block;
                block.scale = f32_to_f16(0.001f * static_cast<float>(1 + q(random) * q(random) % 100));
                for (int8_t& v : block.q)
                    v = static_cast<int8_t>(q(random));
                std::memcpy(bytes.data() + at, &block, sizeof block);
            }
        } else if (info(type).block > 1) {
            bytes = tests::random_blocks(random, type, rows * cols);
        } else {
            const auto values = random_floats(random, rows * cols, 0.1f);
            from_f32(type, values.data(), bytes.data(), rows * cols);
        }
        matrix.data = bytes.data();
    }
    HostMatrix matrix;
    std::vector<std::byte> bytes;
};

// Rows of weights on a backend, and the same rows in the layout that the reference reads.
struct Weights {
    Weights(Backend& backend, std::initializer_list<const Stored*> parts)
    {
        std::vector<HostMatrix> matrices;
        for (const Stored* part : parts)
            matrices.push_back(part->matrix);
        placed = backend.load(matrices);
        plain = cpu::load(matrices);
        for (const HostMatrix& matrix : matrices)
            if (matrix.type != DType::F32 && type != DType::BF16) type = matrix.type;
    }
    std::unique_ptr<Weight> placed, plain;
    DType type = DType::F32; // the type of the parts with the largest product error
};

// The largest |got - expected|, relative to the root mean square of `expected`; for f32 sums of some thousand
// terms, it is well below 1e-6.
inline double largest_error(const std::vector<float>& got, const std::vector<double>& expected)
{
    REQUIRE(got.size() == expected.size());
    double squares = 0, worst = 0;
    for (size_t i = 0; i < got.size(); ++i) {
        squares += expected[i] * expected[i];
        const double error = std::abs(static_cast<double>(got[i]) - expected[i]);
        worst = std::isnan(error) ? std::numeric_limits<double>::infinity() : std::max(worst, error);
    }
    return worst / std::sqrt(squares / static_cast<double>(got.size()));
}

inline std::vector<float> poisoned(int64_t count)
{
    return std::vector<float>(static_cast<size_t>(count), std::numeric_limits<float>::quiet_NaN());
}

// A copy of host floats in backend memory; null stays null. `before`: how many floats precede them, so that they
// may begin at any address.
class Placed {
public:
    Placed(Backend& backend, const float* host, int64_t count, int64_t before = 0) : before_(before)
    {
        if (!host) return;
        std::vector<float> all(static_cast<size_t>(before), std::numeric_limits<float>::quiet_NaN());
        all.insert(all.end(), host, host + count);
        buffer_ = to_device(backend, all);
    }
    float* data() const { return buffer_.data() ? buffer_.data<float>() + before_ : nullptr; }

private:
    Buffer buffer_;
    int64_t before_;
};

// Runs linear() on a backend with arguments in host memory. Returns y.
inline std::vector<float> linear_on(Backend& backend, LinearArgs args, const Weight& weight, int64_t before = 0)
{
    const int64_t floats = args.rows * weight.rows();
    const Placed x(backend, args.x, args.rows * weight.cols(), before), y(backend, args.y, floats, before),
        norm(backend, args.norm.weight, weight.cols()), bias(backend, args.bias, weight.rows()),
        last_norm(backend, args.finish.norm.weight, weight.rows());
    args.x = x.data();
    args.y = y.data();
    args.norm.weight = norm.data();
    args.bias = bias.data();
    args.finish.norm.weight = last_norm.data();
    args.weight = &weight;
    backend.linear(args);
    std::vector<float> got(static_cast<size_t>(floats));
    backend.download(got.data(), y.data(), got.size() * sizeof(float));
    return got;
}

inline std::vector<float> feed_forward_on(Backend& backend, FeedForwardArgs args, const Weight& gate_up,
                                          const Weight& down)
{
    const int64_t floats = args.rows * down.rows();
    const Placed x(backend, args.x, floats), norm(backend, args.norm.weight, down.rows()),
        last_norm(backend, args.finish.norm.weight, down.rows());
    args.x = x.data();
    args.norm.weight = norm.data();
    args.finish.norm.weight = last_norm.data();
    args.gate_up = &gate_up;
    args.down = &down;
    backend.feed_forward(args);
    std::vector<float> got(static_cast<size_t>(floats));
    backend.download(got.data(), x.data(), got.size() * sizeof(float));
    return got;
}

} // namespace palimpsest::kernels::test
