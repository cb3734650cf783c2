// Coded rows, compared with plain loops that compute the same on every SIMD target.

#include "kernels/row_code.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kernels/base/convert.h"
#include "kernels/cpu/simd_target.h"
#include "tests/support/catch.h"

namespace palimpsest::kernels {
namespace {

constexpr DType types[] = {DType::F32, DType::F16, DType::BF16, DType::Q8_0};
constexpr int64_t dims[] = {32, 64, 96, 128, 256};

using Bytes = std::vector<std::byte>;

Bytes narrowed(DType type, const std::vector<float>& x)
{
    Bytes row(static_cast<size_t>(row_bytes(type, std::ssize(x))));
    from_f32(type, x.data(), row.data(), std::ssize(x));
    return row;
}

std::vector<float> widened(const CodedRows& shape, std::span<const std::byte> row)
{
    std::vector<float> x(static_cast<size_t>(shape.head_dim));
    to_f32(shape.type, row.data(), x.data(), shape.head_dim);
    return x;
}

// The product with the Hadamard matrix by its definition, in double.
std::vector<float> transformed(const std::vector<float>& x)
{
    const size_t order = x.size() & (~x.size() + 1);
    std::vector<float> y(x.size());
    for (size_t i = 0; i < x.size(); ++i) {
        double sum = 0;
        for (size_t j = 0; j < order; ++j)
            sum += (std::popcount(i % order & j) % 2 ? -1.0 : 1.0) * double{x[i - i % order + j]};
        y[i] = static_cast<float>(sum);
    }
    return y;
}

// The elements that a coded row stands for, before they are narrowed.
std::vector<float> decoded_by_definition(const CodedRows& shape, const Bytes& codes)
{
    std::vector<float> x;
    const std::byte* at = codes.data();
    while (std::ssize(x) < shape.head_dim) {
        uint16_t bits = 0;
        std::memcpy(&bits, at, sizeof bits);
        at += sizeof bits;
        for (int i = 0; i < 32; ++i) {
            const int byte = std::to_integer<int>(at[shape.code == RowCode::Q8 ? i : i % 16]);
            const int n =
                shape.code == RowCode::Q8 ? static_cast<int8_t>(byte) : (i < 16 ? byte & 15 : byte >> 4) - 8;
            x.push_back(static_cast<float>(n) * bf16_to_f32(bits));
        }
        at += shape.code == RowCode::Q8 ? 32 : 16;
    }
    if (shape.code == RowCode::Q8) return x;
    x = transformed(x);
    const auto order = static_cast<float>(shape.head_dim & -shape.head_dim);
    for (float& value : x)
        value /= order;
    return x;
}

// Rows as a model makes them, and extreme ones: an outlier, tiny, huge, equal, zero and negative zero.
std::vector<float> example(int kind, int64_t dim)
{
    std::mt19937 random(static_cast<unsigned>(kind * 1000 + dim));
    std::normal_distribution<float> normal;
    std::vector<float> x(static_cast<size_t>(dim));
    const float scales[] = {1, 0.01f, 300, 2e-6f, 6e-8f, 1, 1, 0, -0.0f};
    for (float& value : x)
        value = normal(random) * scales[kind];
    if (kind == 5) x[7] = 200; // an outlier channel
    if (kind == 6) std::fill(x.begin(), x.end(), -3.3f);
    return x;
}
constexpr int kinds = 9;

Bytes rounded(const CodedRows& shape, Bytes rows)
{
    round_rows(shape, rows);
    return rows;
}

struct Coded {
    Bytes codes;
    bool is_rounded = false;
};

Coded coded(const CodedRows& shape, const Bytes& row)
{
    Coded result{Bytes(static_cast<size_t>(coded_row_bytes(shape)))};
    uint8_t is_rounded = 2;
    code_rows(shape, row, result.codes, {&is_rounded, 1});
    result.is_rounded = is_rounded == 1;
    return result;
}

Bytes decoded(const CodedRows& shape, const Bytes& codes)
{
    Bytes row(static_cast<size_t>(row_bytes(shape.type, shape.head_dim)));
    decode_rows(shape, codes, row);
    return row;
}

template<class Check>
void each_shape(Check&& check)
{
    for (const RowCode code : {RowCode::Q8, RowCode::Q4})
        for (const DType type : types)
            for (const int64_t dim : dims) {
                const CodedRows shape{code, type, dim};
                if (!can_code(shape)) continue;
                INFO(static_cast<int>(code) << " " << info(type).name << " " << dim);
                check(shape);
            }
}

// The size of a step of the row's largest group: half of it is the largest error of an element in q8.
double largest_step(const CodedRows& shape, const Bytes& codes)
{
    double most = 0;
    for (size_t at = 0; at < codes.size(); at += shape.code == RowCode::Q8 ? 34 : 18) {
        uint16_t bits = 0;
        std::memcpy(&bits, codes.data() + at, sizeof bits);
        most = std::max(most, std::abs(double{bf16_to_f32(bits)}));
    }
    return most;
}

TEST_CASE("rounded rows are coded and decoded bit for bit, and rounding them again changes nothing")
{
    each_shape([](const CodedRows& shape) {
        for (int kind = 0; kind < kinds; ++kind) {
            INFO("kind " << kind);
            const Bytes row = rounded(shape, narrowed(shape.type, example(kind, shape.head_dim)));
            CHECK((rounded(shape, row) == row));
            const Coded code = coded(shape, row);
            CHECK(code.is_rounded);
            CHECK((decoded(shape, code.codes) == row));
        }
    });
}

TEST_CASE("coded rows decode to what they are defined as")
{
    each_shape([](const CodedRows& shape) {
        for (int kind = 0; kind < kinds; ++kind) {
            INFO("kind " << kind);
            const Bytes row = narrowed(shape.type, example(kind, shape.head_dim));
            const Bytes codes = coded(shape, row).codes;
            const auto by_definition = decoded_by_definition(shape, codes);
            if (shape.code == RowCode::Q8) {
                CHECK(decoded(shape, codes) == narrowed(shape.type, by_definition));
                continue;
            }
            const auto found = widened(shape, decoded(shape, codes));
            const double step = largest_step(shape, codes);
            for (size_t i = 0; i < found.size(); ++i) // sums in another order, and narrowed
                CHECK(std::abs(double{found[i]} - double{by_definition[i]}) <=
                      0.01 * std::abs(double{by_definition[i]}) + 0.08 * step + 0x1p-24);
        }
    });
}

TEST_CASE("an element in q8 is off by half a step, and a row in q4 by half a step for each element")
{
    each_shape([](const CodedRows& shape) {
        if (shape.type == DType::BF16 || shape.type == DType::Q8_0) return; // narrowing adds its own error
        for (int kind = 0; kind < kinds; ++kind) {
            INFO("kind " << kind);
            const auto x = widened(shape, narrowed(shape.type, example(kind, shape.head_dim)));
            const Bytes row = rounded(shape, narrowed(shape.type, x));
            const auto y = widened(shape, row);
            const double step = largest_step(shape, coded(shape, row).codes);
            double most = 0, squares = 0;
            for (size_t i = 0; i < x.size(); ++i) {
                most = std::max(most, std::abs(double{x[i]} - double{y[i]}));
                squares += std::pow(double{x[i]} - double{y[i]}, 2);
            }
            const double narrowing = shape.type == DType::F16 ? 127 * step * 0x1p-11 : 0;
            if (shape.code == RowCode::Q8) CHECK(most <= 0.5 * step + narrowing + 0x1p-24);
            // Dividing by the order of the matrix divides the squared error of each element by it.
            if (shape.code == RowCode::Q4) {
                const auto order = static_cast<double>(shape.head_dim & -shape.head_dim);
                const double mean = std::sqrt(squares / static_cast<double>(x.size()));
                CHECK(mean <= 0.53 * step / std::sqrt(order) + 0x1p-24);
            }
        }
    });
}

TEST_CASE("an outlier channel costs a row in q4 little")
{
    const CodedRows shape{RowCode::Q4, DType::F16, 64};
    std::vector<float> x = example(0, 64);
    x[13] = 40; // fifty times the others: one group of plain steps would round the others to zero
    const Bytes row = narrowed(DType::F16, x);
    const auto y = widened(shape, rounded(shape, row));
    double error = 0, power = 0;
    for (size_t i = 0; i < x.size(); ++i)
        if (i != 13) error += std::pow(double{x[i]} - double{y[i]}, 2), power += std::pow(double{x[i]}, 2);
    CHECK(error < 0.5 * power);
}

TEST_CASE("rows that are not finite stay as they are and are not coded")
{
    each_shape([](const CodedRows& shape) {
        for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
            std::vector<float> x = example(0, shape.head_dim);
            x[5] = bad;
            const Bytes row = narrowed(shape.type, x);
            CHECK((rounded(shape, row) == row));
            CHECK_FALSE(coded(shape, row).is_rounded);
        }
    });
}

TEST_CASE("every row of a list is rounded and coded for itself")
{
    each_shape([](const CodedRows& shape) {
        Bytes all, expected, codes;
        std::vector<uint8_t> expected_rounded;
        for (int kind = 0; kind < kinds; ++kind) {
            std::vector<float> x = example(kind, shape.head_dim);
            if (kind == 3) x[0] = std::numeric_limits<float>::infinity();
            const Bytes row = narrowed(shape.type, x), near = rounded(shape, row);
            all.insert(all.end(), row.begin(), row.end());
            expected.insert(expected.end(), near.begin(), near.end());
            const Coded code = coded(shape, near);
            codes.insert(codes.end(), code.codes.begin(), code.codes.end());
            expected_rounded.push_back(code.is_rounded);
        }
        CHECK((rounded(shape, all) == expected));
        Bytes found(codes.size());
        std::vector<uint8_t> is_rounded(kinds);
        code_rows(shape, expected, found, is_rounded);
        CHECK(is_rounded == expected_rounded);
        Bytes decoded_rows(all.size());
        decode_rows(shape, found, decoded_rows);
        const auto bytes = static_cast<size_t>(row_bytes(shape.type, shape.head_dim));
        for (size_t i = 0; i < kinds; ++i)
            if (is_rounded[i])
                CHECK(std::memcmp(decoded_rows.data() + i * bytes, expected.data() + i * bytes, bytes) == 0);
    });
}

TEST_CASE("every SIMD target rounds and codes to the same bits")
{
    std::vector<Bytes> first;
    for (const std::string& target : simd_targets()) {
        INFO(target);
        pin_simd_target(target);
        std::vector<Bytes> found;
        each_shape([&](const CodedRows& shape) {
            for (int kind = 0; kind < kinds; ++kind) {
                found.push_back(rounded(shape, narrowed(shape.type, example(kind, shape.head_dim))));
                found.push_back(coded(shape, found.back()).codes);
            }
        });
        if (first.empty()) first = found;
        CHECK((found == first));
    }
    pin_simd_target("");
}

TEST_CASE("what coding would not make smaller is not coded")
{
    CHECK_FALSE(can_code({RowCode::Q8, DType::Q8_0, 64}));
    CHECK(can_code({RowCode::Q4, DType::Q8_0, 64}));
    CHECK_FALSE(can_code({RowCode::Q8, DType::F16, 80}));
    CHECK_FALSE(can_code({RowCode::Q8, DType::F16, 0}));
    CHECK(coded_row_bytes({RowCode::Q8, DType::F16, 64}) == 68);
    CHECK(coded_row_bytes({RowCode::Q4, DType::F16, 64}) == 36);
}

} // namespace
} // namespace palimpsest::kernels
