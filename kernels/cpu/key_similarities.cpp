#include "kernels/cpu/key_similarities.h"

#include <algorithm>
#include <cmath>

#include "kernels/cpu/kv_list.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/key_similarities.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/cpu/kv_quantise-inl.h"

HWY_BEFORE_NAMESPACE();
namespace palimpsest::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

HWY_INLINE float KeyDot(const float* HWY_RESTRICT a, const float* HWY_RESTRICT b, int64_t dim)
{
    const hn::ScalableTag<float> d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    auto sums = hn::Zero(d);
    int64_t i = 0;
    for (; i + lanes <= dim; i += lanes)
        sums = hn::MulAdd(hn::LoadU(d, a + i), hn::LoadU(d, b + i), sums);
    float sum = hn::GetLane(hn::SumOfLanes(d, sums));
    for (; i < dim; ++i)
        sum += a[i] * b[i];
    return sum;
}

// to += factor * key
HWY_INLINE void AddKey(const float* HWY_RESTRICT key, float factor, int64_t dim, float* HWY_RESTRICT to)
{
    const hn::ScalableTag<float> d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    int64_t i = 0;
    for (; i + lanes <= dim; i += lanes)
        hn::StoreU(hn::MulAdd(hn::LoadU(d, key + i), hn::Set(d, factor), hn::LoadU(d, to + i)), d, to + i);
    for (; i < dim; ++i)
        to[i] += key[i] * factor;
}

// The keys of one list in rank order, as f32.
class ListKeys {
public:
    ListKeys(const cpu::ScoredKeys& keys, int64_t head)
        : keys_(keys), list_(keys.pool, keys.lists, head, keys.shape.head_dim), head_(head),
          in_pool_(int64_t{keys.lists.used[head]} + keys.pooled)
    {
    }

    int64_t ranks() const { return in_pool_ + keys_.staged; }
    void Read(int64_t rank, float* key) const
    {
        const int64_t dim = keys_.shape.head_dim;
        if (rank < in_pool_) {
            const uint32_t* order = keys_.lists.order + head_ * keys_.lists.order_stride;
            return WidenRow(keys_.pool.type, list_.key(keys_.staged > 0 ? rank : order[rank]), key, dim);
        }
        const int64_t row = head_ * keys_.staging.capacity + rank - in_pool_;
        WidenRow(keys_.staging.type, keys_.staging.keys + row * row_bytes(keys_.staging.type, dim), key, dim);
    }

private:
    const cpu::ScoredKeys& keys_;
    KvList list_;
    int64_t head_, in_pool_;
};

// `memory`: [3, head_dim]. Sums of at most 64 keys run in f32, so that long lists lose no precision.
void KeySimilarities(const cpu::ScoredKeys& scored, int64_t head, float* memory, double* sums, float* to)
{
    constexpr int64_t block = 64;
    const int64_t dim = scored.shape.head_dim;
    float *key = memory, *part = memory + dim, *mean = memory + 2 * dim;
    const ListKeys keys(scored, head);
    std::fill_n(sums, dim, 0.0);
    for (int64_t first = 0; first < keys.ranks(); first += block) {
        std::fill_n(part, dim, 0.0f);
        for (int64_t rank = first; rank < std::min(first + block, keys.ranks()); ++rank) {
            keys.Read(rank, key);
            const float squares = KeyDot(key, key, dim);
            to[rank] = squares > 0 ? 1.0f / std::sqrt(squares) : 0.0f;
            AddKey(key, to[rank], dim, part);
        }
        for (int64_t i = 0; i < dim; ++i)
            sums[i] += static_cast<double>(part[i]);
    }
    for (int64_t i = 0; i < dim; ++i)
        mean[i] = static_cast<float>(sums[i] / static_cast<double>(keys.ranks()));
    for (int64_t rank = 0; rank < keys.ranks(); ++rank) {
        keys.Read(rank, key);
        to[rank] *= KeyDot(key, mean, dim);
    }
}

} // namespace HWY_NAMESPACE
} // namespace palimpsest::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace palimpsest::kernels {
HWY_EXPORT(KeySimilarities);

namespace cpu {

void write_key_similarities(const ScoredKeys& keys, const SignalRequest& wanted, CpuContext& context)
{
    if (wanted.rows == 0 || !wanted.key_similarities) return;
    const auto similarities = HWY_DYNAMIC_DISPATCH(KeySimilarities);
    const auto dim = static_cast<size_t>(keys.shape.head_dim), floats = 3 * dim, all = floats + 2 * dim;
    context.reserve<float>(ScratchUse::PackedRows, all);
    context.threads.run(keys.shape.kv_heads, [&](int64_t head, int worker) {
        float* memory = context.worker_scratch(worker, ScratchUse::PackedRows).get<float>(all);
        auto* sums = reinterpret_cast<double*>(memory);
        similarities(keys, head, memory + 2 * dim, sums, wanted.key_similarities + head * wanted.stride);
    });
}

} // namespace cpu
} // namespace palimpsest::kernels
#endif
