#include "kernels/kv_page.h"

#include <cstring>

namespace palimpsest::kernels {
namespace {
constexpr int64_t block_elements = sizeof(BlockQ8_0::q), scale_bytes = sizeof(BlockQ8_0::scale);
}

void split_rows(const KvPage& page, const std::byte* rows, int64_t count, std::byte* elements, std::byte* scales)
{
    if (page.scale_bytes == 0) {
        std::memcpy(elements, rows, static_cast<size_t>(count * page.element_bytes));
        return;
    }
    const int64_t blocks = count * page.element_bytes / block_elements;
    for (int64_t i = 0; i < blocks; ++i, rows += sizeof(BlockQ8_0)) {
        BlockQ8_0 block;
        std::memcpy(&block, rows, sizeof block);
        std::memcpy(elements + i * block_elements, block.q, sizeof block.q);
        std::memcpy(scales + i * scale_bytes, &block.scale, sizeof block.scale);
    }
}

void join_rows(const KvPage& page, const std::byte* elements, const std::byte* scales, int64_t count,
               std::byte* rows)
{
    if (page.scale_bytes == 0) {
        std::memcpy(rows, elements, static_cast<size_t>(count * page.element_bytes));
        return;
    }
    const int64_t blocks = count * page.element_bytes / block_elements;
    for (int64_t i = 0; i < blocks; ++i, rows += sizeof(BlockQ8_0)) {
        BlockQ8_0 block;
        std::memcpy(block.q, elements + i * block_elements, sizeof block.q);
        std::memcpy(&block.scale, scales + i * scale_bytes, sizeof block.scale);
        std::memcpy(rows, &block, sizeof block);
    }
}

} // namespace palimpsest::kernels
