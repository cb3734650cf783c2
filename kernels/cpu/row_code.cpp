#include "kernels/row_code.h"

#include <array>
#include <cfloat>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/row_code.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/cpu/kv_convert-inl.h"

HWY_BEFORE_NAMESPACE();
namespace palimpsest::kernels {
namespace HWY_NAMESPACE {
namespace { // compiled once per target
namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t group = 32; // elements
using Floats = hn::CappedTag<float, 8>;

// Multiplies `size` floats by the Hadamard matrix: every stage writes the sums of neighbours into the first half
// and their differences into the second. REQUIRES: size is a power of two, at least 16. `other`: scratch of that
// size.
void hadamard(float* HWY_RESTRICT x, int64_t size, float* HWY_RESTRICT other)
{
    float *from = x, *to = other;
    for (int64_t stage = 1; stage < size; stage *= 2) {
#if HWY_TARGET == HWY_SCALAR
        for (int64_t i = 0; i < size / 2; ++i) {
            to[i] = from[2 * i] + from[2 * i + 1];
            to[size / 2 + i] = from[2 * i] - from[2 * i + 1];
        }
#else
        const Floats d;
        const auto lanes = static_cast<int64_t>(hn::Lanes(d));
        for (int64_t i = 0; i < size / 2; i += lanes) {
            const auto low = hn::LoadU(d, from + 2 * i), high = hn::LoadU(d, from + 2 * i + lanes);
            const auto even = hn::ConcatEven(d, high, low), odd = hn::ConcatOdd(d, high, low);
            hn::StoreU(hn::Add(even, odd), d, to + i);
            hn::StoreU(hn::Sub(even, odd), d, to + size / 2 + i);
        }
#endif
        std::swap(from, to);
    }
    if (from != x) std::memcpy(x, from, static_cast<size_t>(size) * sizeof(float));
}

// The bf16 scale of a group, as its bits.
uint16_t scale_of(RowCode code, const float* x)
{
    const Floats d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    auto most = hn::LoadU(d, x), least = most;
    for (int64_t i = lanes; i < group; i += lanes) {
        const auto v = hn::LoadU(d, x + i);
        most = hn::Max(most, v), least = hn::Min(least, v);
    }
    const float highest = hn::GetLane(hn::MaxOfLanes(d, most)), lowest = hn::GetLane(hn::MinOfLanes(d, least));
    const float largest = highest >= -lowest ? highest : lowest; // in magnitude
    if (largest == 0) return 0;                                  // whatever its sign, which differs between targets
    if (code == RowCode::Q8) return f32_to_bf16(std::abs(largest) / 127);
    constexpr uint16_t dropped = 0x7; // leaves 5 significant bits
    return static_cast<uint16_t>((f32_to_bf16(largest / -8) + dropped / 2 + 1) & ~dropped);
}

// n of each element of a group: x / scale, rounded to nearest (ties to even).
void numbers_of(RowCode code, const float* x, float scale, int8_t* numbers)
{
    const Floats d;
    const hn::RebindToSigned<Floats> i32;
    const hn::Rebind<int8_t, Floats> i8;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    const auto least = hn::Set(d, code == RowCode::Q8 ? -127.0f : -8.0f),
               most = hn::Set(d, code == RowCode::Q8 ? 127.0f : 7.0f);
    // Floats near 1.5 * 2^23 are integers: adding that number rounds to the nearest one, which is then in the low
    // bits.
    const auto rounder = hn::Set(d, 0x1.8p23f);
    for (int64_t i = 0; i < group; i += lanes) {
        const auto steps = hn::Div(hn::LoadU(d, x + i), hn::Set(d, scale));
        const auto rounded = hn::Add(hn::Min(hn::Max(steps, least), most), rounder);
        const auto whole = hn::Sub(hn::BitCast(i32, rounded), hn::BitCast(i32, rounder));
        hn::StoreU(hn::DemoteTo(i8, whole), i8, numbers + i);
    }
}

// Returns false if a scale is not finite.
bool code_group(RowCode code, const float* x, std::byte* to)
{
    const uint16_t bits = scale_of(code, x);
    const float scale = bf16_to_f32(bits);
    if (!std::isfinite(scale)) return false;
    std::memcpy(to, &bits, sizeof bits);
    std::array<int8_t, group> numbers{};
    if (scale != 0) numbers_of(code, x, scale, numbers.data());
    to += sizeof bits;
    if (code == RowCode::Q8) {
        std::memcpy(to, numbers.data(), numbers.size());
        return true;
    }
    for (size_t i = 0; i < group / 2; ++i)
        to[i] = static_cast<std::byte>((numbers[i] + 8) | (numbers[i + group / 2] + 8) << 4);
    return true;
}

void decode_group(RowCode code, const std::byte* from, float* x)
{
    const Floats d;
    const hn::RebindToSigned<Floats> i32;
    const hn::Rebind<int8_t, Floats> i8;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    uint16_t bits = 0;
    std::memcpy(&bits, from, sizeof bits);
    from += sizeof bits;
    std::array<int8_t, group> numbers;
    if (code == RowCode::Q8)
        std::memcpy(numbers.data(), from, numbers.size());
    else
        for (size_t i = 0; i < group / 2; ++i) {
            const auto both = static_cast<int>(from[i]);
            numbers[i] = static_cast<int8_t>((both & 15) - 8);
            numbers[i + group / 2] = static_cast<int8_t>((both >> 4) - 8);
        }
    const auto scale = hn::Set(d, bf16_to_f32(bits));
    for (int64_t i = 0; i < group; i += lanes)
        hn::StoreU(hn::Mul(hn::ConvertTo(d, hn::PromoteTo(i32, hn::LoadU(i8, numbers.data() + i))), scale), d,
                   x + i);
}

void widen(DType type, const std::byte* row, float* x, int64_t count)
{
    type == DType::Q8_0 ? to_f32(type, row, x, count) : WidenRow(type, row, x, count);
}

void narrow(DType type, const float* x, std::byte* row, int64_t count)
{
    type == DType::Q8_0 ? from_f32(type, x, row, count) : NarrowRow(type, x, row, count);
}

bool all_finite(const float* x, int64_t count)
{
    const Floats d;
    auto finite = hn::Eq(hn::Zero(d), hn::Zero(d));
    for (int64_t i = 0; i < count; i += static_cast<int64_t>(hn::Lanes(d)))
        finite = hn::And(finite, hn::Le(hn::Abs(hn::LoadU(d, x + i)), hn::Set(d, FLT_MAX)));
    return hn::AllTrue(d, finite);
}

// Codes and decodes rows of one shape.
class Coder {
public:
    explicit Coder(const CodedRows& shape)
        : shape_(shape), order_(shape.head_dim & -shape.head_dim), x_(static_cast<size_t>(shape.head_dim)),
          other_(x_.size())
    {
    }

    // Returns false if the row is not finite; `codes` then means nothing.
    bool code(const std::byte* row, std::byte* codes)
    {
        widen(shape_.type, row, x_.data(), shape_.head_dim);
        if (!all_finite(x_.data(), shape_.head_dim)) return false;
        transform();
        const int64_t bytes = coded_row_bytes(shape_) / (shape_.head_dim / group);
        for (int64_t i = 0; i < shape_.head_dim; i += group, codes += bytes)
            if (!code_group(shape_.code, x_.data() + i, codes)) return false;
        return true;
    }

    void decode(const std::byte* codes, std::byte* row)
    {
        const int64_t bytes = coded_row_bytes(shape_) / (shape_.head_dim / group);
        for (int64_t i = 0; i < shape_.head_dim; i += group, codes += bytes)
            decode_group(shape_.code, codes, x_.data() + i);
        transform();
        if (shape_.code == RowCode::Q4)
            for (float& value : x_)
                value /= static_cast<float>(order_);
        narrow(shape_.type, x_.data(), row, shape_.head_dim);
    }

private:
    void transform()
    {
        if (shape_.code != RowCode::Q4) return;
        for (int64_t i = 0; i < shape_.head_dim; i += order_)
            hadamard(x_.data() + i, order_, other_.data());
    }

    CodedRows shape_;
    int64_t order_; // of the Hadamard matrix
    std::vector<float> x_, other_;
};

void round_each(const CodedRows& shape, std::span<std::byte> rows)
{
    // One attempt is enough but for some rows of Q8_0, and of f16 near its smallest numbers.
    constexpr int attempts = 8;
    Coder coder(shape);
    const auto bytes = static_cast<size_t>(row_bytes(shape.type, shape.head_dim));
    std::vector<std::byte> codes(static_cast<size_t>(coded_row_bytes(shape))), now(bytes), next(bytes);
    for (; !rows.empty(); rows = rows.subspan(bytes)) {
        const auto row = rows.first(bytes);
        std::memcpy(now.data(), row.data(), bytes);
        for (int i = 0; i < attempts && coder.code(now.data(), codes.data()); ++i) {
            coder.decode(codes.data(), next.data());
            std::swap(now, next);
            if (now != next) continue;
            std::memcpy(row.data(), now.data(), bytes);
            break;
        }
    }
}

void code_each(const CodedRows& shape, std::span<const std::byte> rows, std::span<std::byte> codes,
               std::span<uint8_t> is_rounded)
{
    Coder coder(shape);
    const auto bytes = static_cast<size_t>(row_bytes(shape.type, shape.head_dim)),
               coded_bytes = static_cast<size_t>(coded_row_bytes(shape));
    std::vector<std::byte> decoded(bytes);
    for (size_t i = 0; i < is_rounded.size(); ++i) {
        const std::byte* row = rows.data() + i * bytes;
        std::byte* const code = codes.data() + i * coded_bytes;
        is_rounded[i] = 0;
        if (!coder.code(row, code)) continue;
        coder.decode(code, decoded.data());
        if (std::memcmp(row, decoded.data(), bytes) == 0) is_rounded[i] = 1;
    }
}

void decode_each(const CodedRows& shape, std::span<const std::byte> codes, std::span<std::byte> rows)
{
    Coder coder(shape);
    const auto bytes = static_cast<size_t>(row_bytes(shape.type, shape.head_dim)),
               coded_bytes = static_cast<size_t>(coded_row_bytes(shape));
    for (; !rows.empty(); rows = rows.subspan(bytes), codes = codes.subspan(coded_bytes))
        coder.decode(codes.data(), rows.data());
}

} // namespace
} // namespace HWY_NAMESPACE
} // namespace palimpsest::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace palimpsest::kernels {

HWY_EXPORT(round_each);
HWY_EXPORT(code_each);
HWY_EXPORT(decode_each);

bool can_code(const CodedRows& shape)
{
    return shape.head_dim > 0 && shape.head_dim % 32 == 0 &&
           coded_row_bytes(shape) < row_bytes(shape.type, shape.head_dim);
}

int64_t coded_row_bytes(const CodedRows& shape)
{
    return shape.head_dim / 32 * (shape.code == RowCode::Q8 ? 34 : 18);
}

void round_rows(const CodedRows& shape, std::span<std::byte> rows)
{
    HWY_DYNAMIC_DISPATCH(round_each)(shape, rows);
}

void code_rows(const CodedRows& shape, std::span<const std::byte> rows, std::span<std::byte> codes,
               std::span<uint8_t> is_rounded)
{
    HWY_DYNAMIC_DISPATCH(code_each)(shape, rows, codes, is_rounded);
}

void decode_rows(const CodedRows& shape, std::span<const std::byte> codes, std::span<std::byte> rows)
{
    HWY_DYNAMIC_DISPATCH(decode_each)(shape, codes, rows);
}

} // namespace palimpsest::kernels
#endif
