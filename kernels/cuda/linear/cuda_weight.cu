// Uploads weights and converts them to planes. Rows go through the context's pinned ring in pieces, so that one
// piece is read from the file while the previous one is transferred; the device then writes it to the planes.

#include "kernels/cuda/linear/cuda_weight.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "kernels/cuda/device/device.h"
#include "kernels/cuda/device/device_memory.h"
#include "kernels/cuda/device/kernels.h"
#include "kernels/cuda/linear/stored_block.h"
#include "kernels/weight_parts.h"

namespace palimpsest::kernels::cuda {
namespace {

constexpr unsigned threads = 256;
constexpr int64_t plane_alignment = 256; // bytes
constexpr int q8_0_block = 32;
constexpr int q8_0_units = sizeof(BlockQ8_0) / sizeof(uint16_t);

// Rows in the file's layout, on the device.
struct StoredRows {
    const void* data;
    int64_t first; // number, within this part of the weight (HostMatrix), of the row that `data` begins with
    int32_t paired_head_dim;
};

__device__ inline int64_t half_split(int64_t stored_row, int64_t head_dim)
{
    if (head_dim == 0) return stored_row;
    const int64_t i = stored_row % head_dim, head = stored_row - i;
    return head + i / 2 + (i % 2) * (head_dim / 2);
}

// The planes that rows are written to.
struct Planes {
    unsigned char* values = nullptr;
    unsigned char* high = nullptr;
    unsigned char* scales = nullptr;
    unsigned char* factors = nullptr;
};

// A block copies a row of unquantised elements, and fills it with zeros up to the stride.
template<class Element>
__global__ void place_rows(StoredRows from, Planes to, int64_t cols, int64_t stride)
{
    const int64_t row = half_split(from.first + blockIdx.x, from.paired_head_dim);
    const Element* stored = static_cast<const Element*>(from.data) + static_cast<int64_t>(blockIdx.x) * cols;
    Element* values = reinterpret_cast<Element*>(to.values) + row * stride;
    for (int64_t c = threadIdx.x; c < stride; c += blockDim.x)
        values[c] = c < cols ? stored[c] : Element(0);
}

// A block copies a row of Q8_0 blocks: the first of every 17 two-byte units is the scale. REQUIRES: cols = stride.
__global__ void place_q8_0_rows(StoredRows from, Planes to, int64_t cols)
{
    const int64_t row = half_split(from.first + blockIdx.x, from.paired_head_dim), blocks = cols / q8_0_block;
    const int64_t units = blocks * q8_0_units;
    const uint16_t* stored = static_cast<const uint16_t*>(from.data) + static_cast<int64_t>(blockIdx.x) * units;
    auto* values = reinterpret_cast<uint16_t*>(to.values);
    auto* scales = reinterpret_cast<uint16_t*>(to.scales);
    for (int64_t u = threadIdx.x; u < units; u += blockDim.x) {
        const int64_t block = row * blocks + u / q8_0_units, unit = u % q8_0_units;
        if (unit == 0)
            scales[block] = stored[u];
        else
            values[block * (q8_0_units - 1) + unit - 1] = stored[u];
    }
}

// Writes the words of a plane of `bits` bits for one chunk: `bits` bits of each code, from bit `first` on.
template<int bits, class Code>
__device__ void write_plane(unsigned char* plane, const Code& code, int first)
{
    constexpr uint32_t mask = (1u << bits) - 1;
    for (int w = 0; w < bits; ++w) {
        uint32_t word = 0;
        for (int j = w; j < chunk_words; j += bits)
            for (int i = 0; i < 4; ++i)
                word |= (code(4 * j + i) >> first & mask) << (8 * i + bits * (j / bits));
        reinterpret_cast<uint32_t*>(plane)[w] = word;
    }
}

template<int bytes>
__device__ void write_bytes(unsigned char* to, uint32_t number)
{
    static_assert(bytes == 1 || bytes == 2 || bytes == 4);
    if constexpr (bytes == 1) *to = static_cast<uint8_t>(number);
    if constexpr (bytes == 2) *reinterpret_cast<uint16_t*>(to) = static_cast<uint16_t>(number);
    if constexpr (bytes == 4) *reinterpret_cast<uint32_t*>(to) = number;
}

// A block converts a row of a type of coding.h; each thread converts one chunk at a time.
template<DType type>
__global__ void place_chunks(StoredRows from, Planes to, int64_t cols)
{
    using Block = typename Stored<type>::Block;
    constexpr Coding coding = coding_of(type);
    constexpr PlaneBytes bytes = plane_bytes(type);
    constexpr int in_block = bytes.factors > 0 ? factor_chunks : 1;
    const int64_t row = half_split(from.first + blockIdx.x, from.paired_head_dim), chunks = cols / chunk_columns;
    const Block* blocks =
        static_cast<const Block*>(from.data) + static_cast<int64_t>(blockIdx.x) * (chunks / in_block);
    for (int64_t c = threadIdx.x; c < chunks; c += blockDim.x) {
        const Block& block = blocks[c / in_block];
        const int part = static_cast<int>(c % in_block);
        const int64_t at = row * chunks + c;
        const auto code = [&](int column) { return Stored<type>::code(block, part * chunk_columns + column); };
        write_plane<coding.low_bits>(to.values + at * bytes.values, code, 0);
        if constexpr (bytes.high > 0)
            write_plane<coding.high_bits>(to.high + at * bytes.high, code, coding.low_bits);
        write_bytes<bytes.scales>(to.scales + at * bytes.scales, Stored<type>::scales(block, part));
        if constexpr (bytes.factors > 0)
            if (part == 0)
                write_bytes<bytes.factors>(to.factors + at / in_block * bytes.factors,
                                           Stored<type>::factors(block));
    }
}

int64_t stride_of(const HostMatrix& m)
{
    return (m.cols + chunk_columns - 1) / chunk_columns * chunk_columns;
}

// Bytes of a part's planes, each rounded up to the alignment of the next.
PlaneBytes bytes_of(const HostMatrix& m)
{
    const PlaneBytes bytes = plane_bytes(m.type);
    const int64_t chunks = m.rows * (stride_of(m) / chunk_columns);
    const auto aligned = [](int64_t size) {
        return (size + plane_alignment - 1) / plane_alignment * plane_alignment;
    };
    return {.values = aligned(chunks * bytes.values),
            .high = aligned(chunks * bytes.high),
            .scales = aligned(chunks * bytes.scales),
            .factors = aligned(chunks / factor_chunks * bytes.factors)};
}

int64_t sum_of(const PlaneBytes& bytes)
{
    return bytes.values + bytes.high + bytes.scales + bytes.factors;
}

// The planes of one part, in one allocation.
class Part {
public:
    explicit Part(const HostMatrix& m)
    {
        const PlaneBytes bytes = bytes_of(m);
        data_ = static_cast<unsigned char*>(allocate_device(static_cast<size_t>(sum_of(bytes))));
        unsigned char* end = data_;
        const auto take = [&](int64_t size) { return size > 0 ? std::exchange(end, end + size) : nullptr; };
        to_.values = take(bytes.values);
        to_.high = take(bytes.high);
        to_.scales = take(bytes.scales);
        to_.factors = take(bytes.factors);
        planes_ = {m.type, to_.values, to_.high, to_.scales, to_.factors, m.rows, m.cols, stride_of(m)};
    }
    Part(Part&& other) noexcept : data_(std::exchange(other.data_, nullptr)), to_(other.to_), planes_(other.planes_)
    {
    }
    Part& operator=(Part&&) = delete;
    ~Part() { free_device(data_); }

    const WeightPlanes& planes() const { return planes_; }

    void place(const StoredRows& from, unsigned rows, CudaContext& context) const
    {
        const Launch shape{.grid = dim3(rows), .block = dim3(threads)};
        const int64_t cols = planes_.cols, stride = planes_.stride;
        if (is_chunked(planes_.type))
            with_chunked_type(planes_.type, [&](auto type) {
                launch(context, shape, place_chunks<type.value>, from, to_, cols);
            });
        else if (planes_.type == DType::Q8_0)
            launch(context, shape, place_q8_0_rows, from, to_, cols);
        else if (planes_.type == DType::F32)
            launch(context, shape, place_rows<uint32_t>, from, to_, cols, stride);
        else
            launch(context, shape, place_rows<uint16_t>, from, to_, cols, stride);
    }

private:
    unsigned char* data_ = nullptr;
    Planes to_;
    WeightPlanes planes_;
};

void upload(const HostMatrix& m, const Part& part, CudaContext& context)
{
    const int64_t bytes = row_bytes(m.type, m.cols);
    const int64_t most = std::max(int64_t{1}, static_cast<int64_t>(SendRing::max_kept) / bytes);
    for (int64_t first = 0; first < m.rows; first += most) {
        const int64_t rows = std::min(most, m.rows - first);
        const std::byte* sent =
            context.send(std::span<const std::byte>(m.data + first * bytes, static_cast<size_t>(rows * bytes)));
        part.place({sent, first, m.paired_head_dim}, static_cast<unsigned>(rows), context);
    }
}

class LoadedWeight final : public CudaWeight {
public:
    LoadedWeight(std::span<const HostMatrix> parts, CudaContext& context)
    {
        check_parts(parts);
        cols_ = parts.front().cols;
        for (const HostMatrix& m : parts) {
            memory_.emplace_back(m);
            planes_.push_back(memory_.back().planes());
            upload(m, memory_.back(), context);
            rows_ += m.rows;
            bytes_ += m.rows * row_bytes(m.type, m.cols);
        }
    }
    std::span<const WeightPlanes> parts() const override { return planes_; }

private:
    std::vector<Part> memory_;
    std::vector<WeightPlanes> planes_;
};

} // namespace

uint64_t weight_bytes(std::span<const HostMatrix> parts)
{
    uint64_t bytes = 0;
    for (const HostMatrix& m : parts)
        bytes += static_cast<uint64_t>(sum_of(bytes_of(m)));
    return bytes;
}

std::unique_ptr<Weight> load(std::span<const HostMatrix> parts, CudaContext& context)
{
    return std::make_unique<LoadedWeight>(parts, context);
}

} // namespace palimpsest::kernels::cuda
