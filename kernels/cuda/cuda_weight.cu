// Uploads weights and lays them out in planes. Rows go through the context's pinned ring in pieces, so the next
// piece is copied from the file while the last one is on its way; the device puts them in their places.

#include "kernels/cuda/cuda_weight.h"

#include <algorithm>
#include <vector>

#include "kernels/cuda/device.h"
#include "kernels/cuda/device_memory.h"
#include "kernels/cuda/kernels.h"
#include "kernels/weight_parts.h"

namespace palimpsest::kernels::cuda {
namespace {

constexpr unsigned threads = 256;
constexpr int64_t plane_alignment = 256; // bytes
constexpr int q8_0_block = 32;
constexpr int q8_0_units = sizeof(BlockQ8_0) / sizeof(uint16_t);

// Rows as a file has them, on the device.
struct StoredRows {
    const void* data;
    int64_t first; // number of the first one within the part
    int32_t paired_head_dim;
};

__device__ inline int64_t half_split(int64_t stored_row, int64_t head_dim)
{
    if (head_dim == 0) return stored_row;
    const int64_t i = stored_row % head_dim, head = stored_row - i;
    return head + i / 2 + (i % 2) * (head_dim / 2);
}

// A block places a row of unquantised elements, and zeros up to the stride.
template<class Element>
__global__ void place_rows(StoredRows from, Element* values, int64_t cols, int64_t stride)
{
    const int64_t row = half_split(from.first + blockIdx.x, from.paired_head_dim);
    const Element* stored = static_cast<const Element*>(from.data) + static_cast<int64_t>(blockIdx.x) * cols;
    for (int64_t c = threadIdx.x; c < stride; c += blockDim.x)
        values[row * stride + c] = c < cols ? stored[c] : Element(0);
}

// A block places a row of Q8_0 blocks: of each 17 units of two bytes, the first is the scale. cols = stride.
__global__ void place_q8_0_rows(StoredRows from, uint16_t* values, uint16_t* scales, int64_t cols)
{
    const int64_t row = half_split(from.first + blockIdx.x, from.paired_head_dim), blocks = cols / q8_0_block;
    const int64_t units = blocks * q8_0_units;
    const uint16_t* stored = static_cast<const uint16_t*>(from.data) + static_cast<int64_t>(blockIdx.x) * units;
    for (int64_t u = threadIdx.x; u < units; u += blockDim.x) {
        const int64_t block = row * blocks + u / q8_0_units, unit = u % q8_0_units;
        if (unit == 0)
            scales[block] = stored[u];
        else
            values[block * (q8_0_units - 1) + unit - 1] = stored[u];
    }
}

int64_t stride_of(const HostMatrix& m)
{
    return (m.cols + q8_0_block - 1) / q8_0_block * q8_0_block;
}

int64_t bytes_of_values(const HostMatrix& m)
{
    const int64_t element = m.type == DType::Q8_0 ? 1 : info(m.type).bytes;
    return (m.rows * stride_of(m) * element + plane_alignment - 1) / plane_alignment * plane_alignment;
}

int64_t bytes_of_scales(const HostMatrix& m)
{
    return m.type == DType::Q8_0 ? m.rows * (stride_of(m) / q8_0_block) * 2 : 0;
}

// Planes of one part in a block of device memory of their own.
class Part {
public:
    explicit Part(const HostMatrix& m)
    {
        const int64_t value_bytes = bytes_of_values(m), scale_bytes = bytes_of_scales(m);
        data_ = static_cast<std::byte*>(take_device_memory(static_cast<size_t>(value_bytes + scale_bytes)));
        values_ = data_;
        if (scale_bytes > 0) scales_ = reinterpret_cast<uint16_t*>(data_ + value_bytes);
        planes_ = {m.type, values_, scales_, m.rows, m.cols, stride_of(m)};
    }
    Part(Part&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)), values_(other.values_), scales_(other.scales_),
          planes_(other.planes_)
    {
    }
    Part& operator=(Part&&) = delete;
    ~Part() { give_device_memory(data_); }

    const WeightPlanes& planes() const { return planes_; }

    void place(const StoredRows& from, unsigned rows, CudaContext& context) const
    {
        const Launch shape{.grid = dim3(rows), .block = dim3(threads)};
        const int64_t cols = planes_.cols, stride = planes_.stride;
        if (planes_.type == DType::Q8_0)
            launch(context, shape, place_q8_0_rows, from, static_cast<uint16_t*>(values_), scales_, cols);
        else if (planes_.type == DType::F32)
            launch(context, shape, place_rows<uint32_t>, from, static_cast<uint32_t*>(values_), cols, stride);
        else
            launch(context, shape, place_rows<uint16_t>, from, static_cast<uint16_t*>(values_), cols, stride);
    }

private:
    std::byte* data_ = nullptr;
    void* values_ = nullptr;
    uint16_t* scales_ = nullptr;
    WeightPlanes planes_;
};

void upload(const HostMatrix& m, const Part& part, CudaContext& context)
{
    const int64_t bytes = row_bytes(m.type, m.cols);
    const int64_t most = std::max(int64_t{1}, static_cast<int64_t>(SendRing::most_kept) / bytes);
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
        bytes += static_cast<uint64_t>(bytes_of_values(m) + bytes_of_scales(m));
    return bytes;
}

std::unique_ptr<Weight> load(std::span<const HostMatrix> parts, CudaContext& context)
{
    return std::make_unique<LoadedWeight>(parts, context);
}

} // namespace palimpsest::kernels::cuda
