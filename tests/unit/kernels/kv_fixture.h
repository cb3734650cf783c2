// A layer's lists in backend memory, and beside them the expected key and value of each rank and KV head.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "kernels/base/convert.h"
#include "kernels/kv_page.h"

namespace palimpsest::kernels::test {

template<class T>
Buffer to_device(Backend& backend, const std::vector<T>& host)
{
    Buffer buffer(backend, std::max<size_t>(1, host.size()) * sizeof(T));
    if (!host.empty()) backend.upload(buffer.data(), host.data(), host.size() * sizeof(T));
    return buffer;
}

template<class T>
std::vector<T> to_host(Backend& backend, const Buffer& buffer, size_t count)
{
    std::vector<T> host(count);
    if (count) backend.download(host.data(), buffer.data(), count * sizeof(T));
    return host;
}

inline std::vector<float> normal_floats(std::mt19937& random, size_t count, float deviation = 1.0f)
{
    std::normal_distribution<float> normal(0.0f, deviation);
    std::vector<float> x(count);
    for (float& v : x)
        v = normal(random);
    return x;
}

inline std::vector<float> rope_table(int64_t positions, int32_t rotary_dim)
{
    std::vector<float> table;
    for (int64_t p = 0; p < positions; ++p)
        for (int part = 0; part < 2; ++part)
            for (int32_t i = 0; i < rotary_dim / 2; ++i) {
                const double angle = static_cast<double>(p) * std::pow(10000.0, -2.0 * i / rotary_dim);
                table.push_back(static_cast<float>(part ? std::sin(angle) : std::cos(angle)));
            }
    return table;
}

// Converts a row to `type`: its bytes outside of a pool.
inline std::vector<std::byte> narrowed(DType type, const float* x, int64_t count)
{
    std::vector<std::byte> bytes(static_cast<size_t>(row_bytes(type, count)));
    from_f32(type, x, bytes.data(), count);
    return bytes;
}

inline std::vector<float> widened_floats(DType type, const std::byte* bytes, int64_t count)
{
    std::vector<float> floats(static_cast<size_t>(count));
    to_f32(type, bytes, floats.data(), count);
    return floats;
}

inline std::vector<double> widened(DType type, const std::byte* bytes, int64_t count)
{
    const auto floats = widened_floats(type, bytes, count);
    return {floats.begin(), floats.end()};
}

struct Row {
    std::vector<std::byte> key, value;
    bool operator==(const Row&) const = default;
};

// The pages of a list are at random places in the pool, and unwritten rows are NaN, which shows if a kernel reads a
// row that it must not read.
class KvFixture {
public:
    KvFixture(Backend& owner, const HeadShape& head_shape, DType pool_type, int64_t capacity, uint32_t seed,
              DType wide = DType::F16)
        : backend(owner), shape(head_shape), type(pool_type), staged_type(staging_type(pool_type, wide)),
          page(kv_page(pool_type, head_shape.head_dim)), random(seed),
          page_stride((capacity + page_rows - 1) / page_rows), order_stride(page_stride * page_rows),
          used(static_cast<size_t>(shape.kv_heads), 0), lists(static_cast<size_t>(shape.kv_heads))
    {
        const auto heads = static_cast<size_t>(shape.kv_heads);
        const size_t page_count = heads * static_cast<size_t>(page_stride);
        std::vector<uint32_t> page_ids(page_count + 3); // some pages belong to no list
        std::iota(page_ids.begin(), page_ids.end(), 0u);
        std::shuffle(page_ids.begin(), page_ids.end(), random);
        const auto pool_bytes = page_ids.size() * static_cast<size_t>(page.bytes());
        page_ids.resize(page_count);
        pages_host = page_ids;
        pages = to_device(backend, page_ids);
        std::vector<std::byte> nan(pool_bytes, std::byte{0xFF});
        keys = to_device(backend, nan);
        values = to_device(backend, nan);
        nan.assign(heads * static_cast<size_t>(order_stride * staged_bytes()), std::byte{0xFF});
        staged_keys = to_device(backend, nan);
        staged_values = to_device(backend, nan);
        std::vector<uint32_t> identity;
        for (size_t h = 0; h < heads; ++h)
            for (int64_t r = 0; r < order_stride; ++r)
                identity.push_back(static_cast<uint32_t>(r));
        order = to_device(backend, identity);
    }

    KvPool pool() const { return {type, keys.data(), values.data()}; }
    KvLists view() const
    {
        return {.pages = pages.data<uint32_t>(),
                .page_stride = page_stride,
                .used = used.data(),
                .order = order.data<uint32_t>(),
                .order_stride = order_stride};
    }
    Staging staging() const { return {staged_keys.data(), staged_values.data(), order_stride, staged_type}; }
    int64_t staged_bytes() const { return row_bytes(staged_type, shape.head_dim); }
    std::vector<uint32_t> order_of(size_t head) const
    {
        const auto all = to_host<uint32_t>(backend, order, static_cast<size_t>(shape.kv_heads * order_stride));
        const auto from = all.begin() + static_cast<std::ptrdiff_t>(head) * order_stride;
        return {from, from + order_stride};
    }

    // Sets a list to `rows`; with `shuffled`, they are stored in random physical rows.
    void fill(size_t head, const std::vector<Row>& rows, bool shuffled)
    {
        std::vector<uint32_t> at(static_cast<size_t>(order_stride));
        std::iota(at.begin(), at.end(), 0u);
        if (shuffled) std::shuffle(at.begin(), at.end(), random);
        backend.upload(order.data<uint32_t>() + static_cast<int64_t>(head) * order_stride, at.data(),
                       at.size() * sizeof(uint32_t));
        for (size_t rank = 0; rank < rows.size(); ++rank) {
            write(keys, head, at[rank], rows[rank].key);
            write(values, head, at[rank], rows[rank].value);
        }
        lists[head] = rows;
        used[head] = static_cast<int32_t>(rows.size());
    }

    Row read(size_t head, int64_t row) const { return {read(keys, head, row), read(values, head, row)}; }

    // Byte offset in the pool of the page that holds a row.
    int64_t page_at(size_t head, int64_t row) const
    {
        const auto index = head * static_cast<size_t>(page_stride) + static_cast<size_t>(row / page_rows);
        return int64_t{pages_host[index]} * page.bytes();
    }

    void write(const Buffer& pool, size_t head, int64_t row, const std::vector<std::byte>& bytes)
    {
        const Parts to = parts(pool, head, row);
        std::vector<std::byte> elements(to.element_bytes), scales(to.scale_bytes);
        split_rows(page, bytes.data(), 1, elements.data(), scales.data());
        backend.upload(to.elements, elements.data(), elements.size());
        backend.upload(to.scales, scales.data(), scales.size());
    }

    std::vector<std::byte> read(const Buffer& pool, size_t head, int64_t row) const
    {
        const Parts from = parts(pool, head, row);
        std::vector<std::byte> elements(from.element_bytes), scales(from.scale_bytes);
        backend.download(elements.data(), from.elements, elements.size());
        backend.download(scales.data(), from.scales, scales.size());
        std::vector<std::byte> bytes(elements.size() + scales.size());
        join_rows(page, elements.data(), scales.data(), 1, bytes.data());
        return bytes;
    }

    struct Parts {
        std::byte *elements, *scales;
        size_t element_bytes, scale_bytes;
    };
    Parts parts(const Buffer& pool, size_t head, int64_t row) const
    {
        std::byte* at = pool.data() + page_at(head, row);
        return {at + page.elements_at(row % page_rows), at + page.scales_at(row % page_rows),
                static_cast<size_t>(page.element_bytes), static_cast<size_t>(page.scale_bytes)};
    }

    Backend& backend;
    HeadShape shape;
    DType type, staged_type;
    KvPage page;
    std::mt19937 random;
    int64_t page_stride, order_stride;
    std::vector<int32_t> used;
    std::vector<std::vector<Row>> lists; // expected rows, [kv_heads][rank]
    std::vector<uint32_t> pages_host;
    Buffer pages, order, keys, values, staged_keys, staged_values;
};

} // namespace palimpsest::kernels::test
