// Eviction of one layer on the device, for a chunk or a token.
#include <numeric>
#include <random>

#include "kernels/cuda/device/kernels.h"
#include "tests/bench/device_array.h"
#include "tests/bench/gpu_cases.h"

namespace palimpsest::bench {
namespace {

using namespace kernels;
using kernels::cuda::CudaContext;

template<class T>
std::vector<T> random_numbers(size_t count)
{
    std::mt19937 random(3);
    std::uniform_real_distribution<double> share(0.1, 2.0);
    std::vector<T> numbers(count);
    for (T& x : numbers)
        x = static_cast<T>(share(random));
    return numbers;
}

// One wave of eviction tiles of two neighbors, from the first rank on, as many as there are tokens to evict.
void add_tiles(std::vector<uint32_t>& words, ListPlan& list)
{
    list.data = static_cast<uint32_t>(words.size());
    for (uint32_t place = 0; place < 2 * list.evicted; ++place)
        words.push_back(place);
    list.waves = 1;
    list.wave_ends = static_cast<uint32_t>(words.size());
    words.push_back(list.evicted);
}

std::vector<uint32_t> plan_of(const EvictionCase& shape)
{
    constexpr size_t list_words = sizeof(ListPlan) / sizeof(uint32_t);
    std::vector<uint32_t> words(static_cast<size_t>(shape.kv_heads) * list_words);
    ListPlan list;
    list.size = static_cast<uint32_t>(shape.size);
    list.evicted = static_cast<uint32_t>(shape.evicted);
    list.end = list.size;
    if (shape.tiles) add_tiles(words, list);
    for (int32_t head = 0; head < shape.kv_heads; ++head)
        reinterpret_cast<ListPlan*>(words.data())[head] = list;
    return words;
}

struct Layer {
    Layer(CudaContext& context, const EvictionCase& shape)
        : entries(static_cast<size_t>(shape.kv_heads) * static_cast<size_t>(shape.size)), stride(shape.size),
          plan(context, plan_of(shape)), sum(context, random_numbers<double>(entries)),
          count(context, random_numbers<double>(entries)), columns(context, random_numbers<float>(entries)),
          dropped(entries), kept(entries)
    {
        std::vector<uint32_t> ranks(entries);
        for (size_t i = 0; i < entries; ++i)
            ranks[i] = static_cast<uint32_t>(i % static_cast<size_t>(stride));
        order = DeviceArray<uint32_t>(context, ranks);
    }
    ListStatistics statistics() const { return {sum.data(), count.data(), stride}; }

    size_t entries;
    int64_t stride;
    DeviceArray<uint32_t> plan;
    DeviceArray<double> sum, count;
    DeviceArray<float> columns;
    DeviceArray<uint32_t> dropped, kept, order;
};

} // namespace

GpuWork accumulate_work(CudaContext& context, const EvictionCase& shape)
{
    const auto layer = std::make_shared<const Layer>(context, shape);
    const auto body = [=, &context](int) {
        cuda::accumulate({.kv_heads = shape.kv_heads,
                          .plan = layer->plan.data(),
                          .max_size = shape.size,
                          .columns = layer->columns.data(),
                          .column_stride = layer->stride,
                          .divisor = 4,
                          .rows = shape.rows,
                          .counted = shape.rows,
                          .statistics = layer->statistics()},
                         context);
    };
    return {body, 1, static_cast<double>(layer->entries) * (4 * sizeof(double) + sizeof(float))};
}

GpuWork evict_work(CudaContext& context, const EvictionCase& shape)
{
    const auto layer = std::make_shared<const Layer>(context, shape);
    const bool decodes = shape.rows == 1;
    const SelectRule select = shape.tiles ? SelectRule::Tiles : SelectRule::Lowest;
    const auto body = [=, &context](int) {
        cuda::evict({.kv_heads = shape.kv_heads,
                     .plan = layer->plan.data(),
                     .max_size = shape.size,
                     .max_evicted = shape.evicted,
                     .rule = {.select = select, .score = ScoreRule::Mean},
                     .statistics = layer->statistics(),
                     .order = decodes ? layer->order.data() : nullptr,
                     .order_stride = layer->stride,
                     .dropped = layer->dropped.data(),
                     .dropped_stride = layer->stride,
                     .kept = decodes ? nullptr : layer->kept.data(),
                     .kept_stride = layer->stride},
                    context);
    };
    // Reads the scores, and compacts the kept ones.
    return {body, 1, static_cast<double>(layer->entries) * 4 * sizeof(double)};
}

} // namespace palimpsest::bench
