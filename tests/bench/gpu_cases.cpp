#include "tests/bench/gpu_cases.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "kernels/base/convert.h"
#include "kernels/cuda/device/kernels.h"
#include "tests/bench/device_array.h"
#include "tests/support/random_blocks.h"

namespace palimpsest::bench {
namespace {

using namespace kernels;
using kernels::cuda::CudaContext;

std::vector<float> random_floats(size_t count, float scale = 1.0f)
{
    std::mt19937 random(1);
    std::normal_distribution<float> normal(0.0f, scale);
    std::vector<float> pool(std::min<size_t>(count, 1000003));
    for (float& x : pool)
        x = normal(random);
    std::vector<float> values(count);
    for (size_t i = 0; i < count; ++i)
        values[i] = pool[i % pool.size()];
    return values;
}

std::vector<std::byte> random_elements(DType type, size_t count)
{
    const auto floats = random_floats(count);
    std::vector<std::byte> bytes(static_cast<size_t>(row_bytes(type, static_cast<int64_t>(count))));
    from_f32(type, floats.data(), bytes.data(), static_cast<int64_t>(count));
    return bytes;
}

// ---- weights

// A weight of random rows, of which some are copies of others.
std::unique_ptr<Weight> random_weight(CudaContext& context, DType type, int64_t rows, int64_t cols)
{
    const int64_t distinct = std::min<int64_t>(rows, 67), bytes = row_bytes(type, cols);
    std::vector<std::byte> some;
    if (info(type).block > 1) {
        std::mt19937 random(1);
        some = tests::random_blocks(random, type, distinct * cols);
    } else {
        some.resize(static_cast<size_t>(distinct * bytes));
        const auto floats = random_floats(static_cast<size_t>(distinct * cols), 0.02f);
        from_f32(type, floats.data(), some.data(), distinct * cols);
    }
    std::vector<std::byte> all(static_cast<size_t>(rows * bytes));
    for (size_t at = 0; at < all.size(); at += some.size())
        std::memcpy(all.data() + at, some.data(), std::min(some.size(), all.size() - at));
    const HostMatrix matrix{type, all.data(), rows, cols, 0};
    auto weight = cuda::load({&matrix, 1}, context);
    context.finish(); // the host's rows are freed on return
    return weight;
}

using Weights = std::vector<std::shared_ptr<Weight>>;

// Enough weights to exceed `bytes` in total.
Weights random_weights(CudaContext& context, DType type, int64_t rows, int64_t cols, size_t bytes)
{
    Weights weights;
    for (size_t held = 0; weights.empty() || held <= bytes; held += static_cast<size_t>(weights.back()->bytes()))
        weights.push_back(random_weight(context, type, rows, cols));
    return weights;
}

constexpr float epsilon = 1e-5f;

} // namespace

GpuWork linear_work(CudaContext& context, const LinearCase& shape, size_t cache_bytes)
{
    const auto inputs = static_cast<size_t>(shape.inputs);
    const Weights weights = random_weights(context, shape.type, shape.rows, shape.cols, cache_bytes);
    const DeviceArray<float> x(context, random_floats(inputs * static_cast<size_t>(shape.cols)));
    const DeviceArray<float> norm(context, random_floats(static_cast<size_t>(shape.cols)));
    const DeviceArray<float> y(inputs * static_cast<size_t>(shape.rows));
    const auto body = [=, &context](int i) {
        LinearArgs args;
        args.x = x.data();
        args.rows = shape.inputs;
        if (shape.norm) args.norm = {norm.data(), epsilon};
        args.weight = weights[static_cast<size_t>(i)].get();
        args.y = y.data();
        args.phase = shape.phase;
        cuda::linear(args, context);
    };
    const double operations =
        2.0 * static_cast<double>(shape.inputs) * static_cast<double>(shape.rows * shape.cols);
    return {body, static_cast<int>(weights.size()),
            shape.inputs == 1 ? static_cast<double>(weights.front()->bytes()) : operations};
}

GpuWork feed_forward_work(CudaContext& context, const LinearCase& shape, size_t cache_bytes)
{
    const Weights gate_up = random_weights(context, shape.type, 2 * shape.rows, shape.cols, cache_bytes * 2 / 3);
    Weights down;
    for (size_t i = 0; i < gate_up.size(); ++i)
        down.push_back(random_weight(context, shape.type, shape.cols, shape.rows));
    const DeviceArray<float> norm(context, random_floats(static_cast<size_t>(shape.cols)));
    const DeviceArray<float> x(context, random_floats(static_cast<size_t>(shape.inputs * shape.cols)));
    const auto body = [=, &context](int i) {
        const auto at = static_cast<size_t>(i);
        cuda::feed_forward({.x = x.data(),
                            .rows = shape.inputs,
                            .norm = {norm.data(), epsilon},
                            .gate_up = gate_up[at].get(),
                            .down = down[at].get(),
                            .phase = shape.phase},
                           context);
    };
    const double operations =
        6.0 * static_cast<double>(shape.inputs) * static_cast<double>(shape.rows * shape.cols);
    const double bytes = static_cast<double>(gate_up.front()->bytes() + down.front()->bytes());
    return {body, static_cast<int>(gate_up.size()), shape.inputs == 1 ? bytes : operations};
}

GpuWork embed_work(CudaContext& context, DType type, int64_t rows, int64_t cols, int64_t count)
{
    const std::shared_ptr<Weight> table = random_weight(context, type, rows, cols);
    std::vector<int32_t> ids(static_cast<size_t>(count));
    for (size_t i = 0; i < ids.size(); ++i)
        ids[i] = static_cast<int32_t>(i * 7919 % static_cast<size_t>(rows));
    const DeviceArray<float> y(static_cast<size_t>(count * cols));
    const auto body = [=, &context](int) {
        cuda::embed({.table = table.get(), .ids = ids, .y = y.data()}, context);
    };
    return {body, 1, static_cast<double>(count) * static_cast<double>(row_bytes(type, cols) + 4 * cols)};
}

// ---- lists

namespace {

// Lists of several layers in one pool, with a chunk in the staging buffer.
class Lists {
public:
    Lists(CudaContext& context, const AttentionCase& wanted, int layers)
        : shape{.query_heads = wanted.kv_heads * wanted.group,
                .kv_heads = wanted.kv_heads,
                .head_dim = wanted.head_dim,
                .scale = 1.0f / std::sqrt(static_cast<float>(wanted.head_dim))},
          type(wanted.type), rows(wanted.rows), keys_rotated(wanted.keys_rotated),
          pages_per_list((wanted.used + wanted.rows + page_rows) / page_rows), stride(pages_per_list * page_rows)
    {
        for (int32_t head = 0; head < shape.kv_heads; ++head)
            used.push_back(wanted.ragged ? std::max(0, wanted.used - 37 * head) : wanted.used);
        const size_t list_rows = static_cast<size_t>(layers) * static_cast<size_t>(shape.kv_heads * stride);
        const auto dim = static_cast<size_t>(shape.head_dim);
        const auto rows_host = random_elements(type, list_rows * dim);
        keys = DeviceArray<std::byte>(context, rows_host);
        values = DeviceArray<std::byte>(context, rows_host);
        const auto chunk = random_elements(type, static_cast<size_t>(shape.kv_heads * stride) * dim);
        staged_keys = DeviceArray<std::byte>(context, chunk);
        staged_values = DeviceArray<std::byte>(context, chunk);
        qkv = DeviceArray<float>(context, random_floats(static_cast<size_t>(rows * shape.qkv_width())));
        table = DeviceArray<float>(context, angles(stride + 1));
        out = DeviceArray<float>(static_cast<size_t>(rows * shape.query_heads) * dim);
        fill_orders(context, layers, wanted.shuffled);
        device_used = DeviceArray<int32_t>(context, used);
        const auto planes = static_cast<size_t>(shape.query_heads * stride);
        for (DeviceArray<float>& plane : outputs)
            plane = DeviceArray<float>(planes);
    }

    KvPool pool() const { return {type, keys.data(), values.data()}; }
    Staging staging() const { return {staged_keys.data(), staged_values.data(), stride, type}; }
    Rotation rotation() const { return {{table.data(), stride + 1, shape.head_dim / 2 * 2}, keys_rotated}; }
    KvLists lists(int layer) const
    {
        const int64_t list = int64_t{layer} * shape.kv_heads;
        return {.pages = pages.data() + list * pages_per_list,
                .page_stride = pages_per_list,
                .used = used.data(),
                .device_used = device_used.data(),
                .order = order.data() + list * stride,
                .order_stride = stride};
    }
    SignalRequest signals(Signals wanted) const
    {
        SignalRequest request;
        if (wanted == Signals::None) return request;
        request.rows = wanted == Signals::LastRows ? std::min(rows, 32) : SignalRequest::all;
        request.stride = stride;
        request.sums = outputs[0].data();
        if (wanted != Signals::Every) return request;
        request.low_counts = outputs[1].data();
        request.head_sums = outputs[2].data();
        request.head_squares = outputs[3].data();
        request.entropies = outputs[4].data();
        request.row_statistic = RowStatistic::Entropy;
        request.row_statistics = outputs[5].data();
        return request;
    }

    HeadShape shape;
    DType type;
    int32_t rows;
    bool keys_rotated;
    int64_t pages_per_list, stride;
    std::vector<int32_t> used;
    DeviceArray<std::byte> keys, values, staged_keys, staged_values;
    DeviceArray<float> qkv, table, out, outputs[6];
    DeviceArray<uint32_t> pages, order;
    DeviceArray<int32_t> device_used;

private:
    std::vector<float> angles(int64_t positions) const
    {
        const int32_t half = shape.head_dim / 2;
        std::vector<float> all;
        for (int64_t p = 0; p < positions; ++p)
            for (int part = 0; part < 2; ++part)
                for (int32_t i = 0; i < half; ++i) {
                    const double angle = static_cast<double>(p) * std::pow(10000.0, -1.0 * i / half);
                    all.push_back(static_cast<float>(part ? std::sin(angle) : std::cos(angle)));
                }
        return all;
    }
    void fill_orders(CudaContext& context, int layers, bool shuffled)
    {
        const size_t lists = static_cast<size_t>(layers) * static_cast<size_t>(shape.kv_heads);
        std::vector<uint32_t> page_ids(lists * static_cast<size_t>(pages_per_list));
        std::iota(page_ids.begin(), page_ids.end(), 0u);
        std::mt19937 random(2);
        std::shuffle(page_ids.begin(), page_ids.end(), random);
        std::vector<uint32_t> ranks;
        for (size_t list = 0; list < lists; ++list) {
            std::vector<uint32_t> own(static_cast<size_t>(stride));
            std::iota(own.begin(), own.end(), 0u);
            if (shuffled) std::shuffle(own.begin(), own.end(), random);
            ranks.insert(ranks.end(), own.begin(), own.end());
        }
        pages = DeviceArray<uint32_t>(context, page_ids);
        order = DeviceArray<uint32_t>(context, ranks);
    }
};

double list_bytes(const Lists& lists)
{
    return 2.0 * static_cast<double>(row_bytes(lists.type, lists.shape.head_dim)) *
           std::accumulate(lists.used.begin(), lists.used.end(), 0.0);
}

DecodeAttendArgs decode_args(const Lists& lists, int layer, Signals signals)
{
    return {.shape = lists.shape,
            .qkv = lists.qkv.data(),
            .pool = lists.pool(),
            .lists = lists.lists(layer),
            .rotation = lists.rotation(),
            .out = lists.out.data(),
            .signals = lists.signals(signals),
            .retrieval = {}};
}

} // namespace

GpuWork prefill_work(CudaContext& context, const AttentionCase& shape)
{
    const auto lists = std::make_shared<const Lists>(context, shape, 1);
    const auto body = [=, &context](int) {
        cuda::attend({.shape = lists->shape,
                      .qkv = lists->qkv.data(),
                      .rows = lists->rows,
                      .pool = lists->pool(),
                      .lists = lists->lists(0),
                      .staging = lists->staging(),
                      .rotation = lists->rotation(),
                      .out = lists->out.data(),
                      .signals = lists->signals(shape.signals)},
                     context);
    };
    double ranks = 0; // visible ranks, summed over rows and query heads
    for (const int32_t used : lists->used)
        ranks += shape.group * (static_cast<double>(used) + (shape.rows + 1) / 2.0) * shape.rows;
    return {body, 1, 4.0 * ranks * shape.head_dim};
}

GpuWork decode_work(CudaContext& context, const AttentionCase& shape, size_t cache_bytes)
{
    AttentionCase one = shape;
    one.rows = 1;
    const double bytes =
        2.0 * static_cast<double>(row_bytes(shape.type, shape.head_dim)) * shape.used * shape.kv_heads;
    const int layers = 1 + static_cast<int>(static_cast<double>(cache_bytes) / std::max(bytes, 1.0));
    const auto lists = std::make_shared<const Lists>(context, one, layers);
    const auto body = [=, &context](int layer) {
        cuda::decode_attend(decode_args(*lists, layer, shape.signals), context);
    };
    return {body, layers, list_bytes(*lists)};
}

namespace {

// Layers that are called one after another, each with its own lists.
class DecodeLayers {
public:
    DecodeLayers(CudaContext& context, const LayerCase& wanted, size_t cache_bytes)
        : context_(context), signals_(wanted.attention.signals), count_(layers_for(wanted, cache_bytes)),
          lists_(context, one_row(wanted.attention), count_),
          x_(context, random_floats(static_cast<size_t>(wanted.dim))),
          norm_(context, random_floats(static_cast<size_t>(wanted.dim)))
    {
        const int64_t width = int64_t{lists_.shape.query_heads} * lists_.shape.head_dim;
        for (int layer = 0; layer < count_; ++layer) {
            const auto add = [&](Weights& to, int64_t rows, int64_t cols) {
                to.push_back(random_weight(context, wanted.weights, rows, cols));
            };
            add(qkv_, lists_.shape.qkv_width(), wanted.dim);
            add(out_, wanted.dim, width);
            add(gate_up_, 2 * wanted.ffn, wanted.dim);
            add(down_, wanted.dim, wanted.ffn);
        }
        const auto ranks = static_cast<size_t>(count_ * lists_.shape.kv_heads * lists_.stride);
        columns_ = DeviceArray<float>(ranks);
        sums_ = DeviceArray<double>(context, std::vector<double>(ranks, 1.0));
        counts_ = DeviceArray<double>(context, std::vector<double>(ranks, 2.0));
        std::vector<uint32_t> plan;
        for (const int32_t used : lists_.used) {
            const auto size = static_cast<uint32_t>(used) + 1;
            plan.insert(plan.end(), {size, 1, std::min(4u, size - 1), size, 0, 0, 0, 0});
        }
        plan_ = DeviceArray<uint32_t>(context, plan);
        dropped_ = DeviceArray<uint32_t>(static_cast<size_t>(count_ * lists_.shape.kv_heads));
    }

    void run(int layer) const
    {
        linear(qkv_, layer, x_, lists_.qkv, true);
        DecodeAttendArgs args = decode_args(lists_, layer, signals_);
        args.signals.sums = columns_.data() + first_rank(layer);
        cuda::decode_attend(args, context_);
        if (signals_ != Signals::None) evict(layer, args.signals);
        linear(out_, layer, lists_.out, x_, false);
        const auto at = static_cast<size_t>(layer);
        cuda::feed_forward({.x = x_.data(),
                            .rows = 1,
                            .norm = {norm_.data(), epsilon},
                            .gate_up = gate_up_[at].get(),
                            .down = down_[at].get(),
                            .phase = Phase::Decode},
                           context_);
    }
    int count() const { return count_; }
    double bytes() const // of one layer
    {
        double all = list_bytes(lists_);
        for (const Weights* weights : {&qkv_, &out_, &gate_up_, &down_})
            all += static_cast<double>(weights->front()->bytes());
        return all;
    }

private:
    static AttentionCase one_row(AttentionCase shape)
    {
        shape.rows = 1;
        return shape;
    }
    static int layers_for(const LayerCase& wanted, size_t cache_bytes)
    {
        const AttentionCase& a = wanted.attention;
        const int64_t heads = int64_t{a.kv_heads} * (2 + 2 * a.group) * a.head_dim;
        const auto bytes = static_cast<double>((heads + 3 * wanted.ffn) * row_bytes(wanted.weights, wanted.dim));
        constexpr int fewest = 8; // at least 8 layers, so that the eviction of a layer, which runs concurrently,
                                  // ends before the layer comes again
        return std::max(fewest, 1 + static_cast<int>(static_cast<double>(cache_bytes) / bytes));
    }
    int64_t first_rank(int layer) const { return int64_t{layer} * lists_.shape.kv_heads * lists_.stride; }
    void linear(const Weights& weights, int layer, const DeviceArray<float>& x, const DeviceArray<float>& y,
                bool normed) const
    {
        LinearArgs args;
        args.x = x.data();
        args.rows = 1;
        if (normed) args.norm = {norm_.data(), epsilon};
        args.weight = weights[static_cast<size_t>(layer)].get();
        args.y = y.data();
        args.phase = Phase::Decode;
        cuda::linear(args, context_);
    }
    void evict(int layer, const SignalRequest& seen) const
    {
        const ListStatistics statistics{sums_.data() + first_rank(layer), counts_.data() + first_rank(layer),
                                        lists_.stride};
        const int32_t kv_heads = lists_.shape.kv_heads;
        const CudaContext::Aside aside = context_.aside();
        cuda::accumulate({.kv_heads = kv_heads,
                          .plan = plan_.data(),
                          .max_size = lists_.stride,
                          .columns = seen.sums,
                          .column_stride = seen.stride,
                          .divisor = lists_.shape.group(),
                          .rows = 1,
                          .counted = 1,
                          .statistics = statistics},
                         context_);
        cuda::evict({.kv_heads = kv_heads,
                     .plan = plan_.data(),
                     .max_size = lists_.stride,
                     .max_evicted = 1,
                     .rule = {.select = SelectRule::Lowest, .score = ScoreRule::Mean},
                     .statistics = statistics,
                     .order = lists_.order.data() + first_rank(layer),
                     .order_stride = lists_.stride,
                     .dropped = dropped_.data() + int64_t{layer} * kv_heads,
                     .dropped_stride = 1},
                    context_);
    }

    CudaContext& context_;
    Signals signals_;
    int count_;
    Lists lists_;
    DeviceArray<float> x_, norm_, columns_;
    Weights qkv_, out_, gate_up_, down_;
    DeviceArray<double> sums_, counts_;
    DeviceArray<uint32_t> plan_, dropped_;
};

} // namespace

GpuWork layer_work(CudaContext& context, const LayerCase& shape, size_t cache_bytes)
{
    const auto layers = std::make_shared<const DecodeLayers>(context, shape, cache_bytes);
    return {[=](int layer) { layers->run(layer); }, layers->count(), layers->bytes()};
}

GpuWork compact_work(CudaContext& context, const AttentionCase& shape)
{
    const auto lists = std::make_shared<const Lists>(context, shape, 1);
    std::vector<uint32_t> kept;
    std::vector<int32_t> counts;
    const auto stride = static_cast<int64_t>(shape.used);
    double moved = 0;
    for (int32_t head = 0; head < shape.kv_heads; ++head) {
        const int32_t used = lists->used[static_cast<size_t>(head)], ranks = used + shape.rows;
        std::vector<uint32_t> own;
        const int32_t out = std::max(0, ranks - shape.used);
        for (int32_t rank = 0, left = out; rank < ranks; ++rank) {
            const bool leaves = left > 0 && (rank % 5 == 4 || ranks - rank <= left);
            if (leaves)
                --left;
            else
                own.push_back(static_cast<uint32_t>(rank));
        }
        for (size_t i = 0; i < own.size(); ++i)
            moved += own[i] != i || own[i] >= static_cast<uint32_t>(used) ? 1 : 0;
        counts.push_back(static_cast<int32_t>(own.size()));
        own.resize(static_cast<size_t>(stride));
        kept.insert(kept.end(), own.begin(), own.end());
    }
    const auto body = [=, &context](int) {
        cuda::compact({.shape = lists->shape,
                       .pool = lists->pool(),
                       .lists = lists->lists(0),
                       .staging = lists->staging(),
                       .kept = kept.data(),
                       .kept_stride = stride,
                       .kept_count = counts.data()},
                      context);
    };
    return {body, 1, 4.0 * moved * static_cast<double>(row_bytes(shape.type, shape.head_dim))};
}

GpuWork drop_work(CudaContext& context, const AttentionCase& shape, int32_t count)
{
    const auto lists = std::make_shared<const Lists>(context, shape, 1);
    std::vector<uint32_t> dropped;
    double ranks = 0;
    for (const int32_t used : lists->used) {
        for (int32_t i = 0; i < count; ++i)
            dropped.push_back(static_cast<uint32_t>(int64_t{i} * used / count));
        ranks += used;
    }
    const std::vector<int32_t> counts(lists->used.size(), count);
    const auto body = [=, &context](int) {
        cuda::drop({.kv_heads = lists->shape.kv_heads,
                    .lists = lists->lists(0),
                    .dropped = dropped.data(),
                    .dropped_stride = count,
                    .dropped_count = counts.data()},
                   context);
    };
    return {body, 1, 8.0 * ranks};
}

GpuWork defragment_work(CudaContext& context, const AttentionCase& shape)
{
    const auto lists = std::make_shared<const Lists>(context, shape, 1);
    const auto body = [=, &context](int) {
        cuda::defragment({.shape = lists->shape, .pool = lists->pool(), .lists = lists->lists(0)}, context);
    };
    return {body, 1, 4.0 * std::accumulate(lists->used.begin(), lists->used.end(), 0.0)};
}

GpuWork stage_work(CudaContext& context, const AttentionCase& shape)
{
    const auto lists = std::make_shared<const Lists>(context, shape, 1);
    const auto body = [=, &context](int) {
        cuda::stage({.shape = lists->shape,
                     .qkv = lists->qkv.data(),
                     .rows = lists->rows,
                     .staging = lists->staging(),
                     .rotation = lists->rotation()},
                    context);
    };
    const double row = static_cast<double>(4 * shape.head_dim + row_bytes(shape.type, shape.head_dim));
    return {body, 1, 2.0 * row * shape.rows * shape.kv_heads};
}

GpuWork retrieval_work(CudaContext& context, const AttentionCase& shape, double top_p)
{
    constexpr int32_t page = 16;
    AttentionCase one = shape;
    one.rows = 1;
    const auto lists = std::make_shared<const Lists>(context, one, 1);
    const int64_t pages = shape.used / page + 1;
    const DeviceArray<float> bounds(static_cast<size_t>(shape.kv_heads * pages * 2 * shape.head_dim));
    const auto body = [=, &context](int) {
        const PageBounds of{bounds.data(), pages, page};
        cuda::bound_pages({.shape = lists->shape,
                           .pool = lists->pool(),
                           .lists = lists->lists(0),
                           .rotation = lists->rotation(),
                           .first = 0,
                           .pages = of},
                          context);
        DecodeAttendArgs args = decode_args(*lists, 0, shape.signals);
        args.retrieval = {of, shape.used / 4, std::max(1, shape.used / 4 / page), top_p};
        cuda::decode_attend(args, context);
    };
    return {body, 1, list_bytes(*lists)};
}

GpuWork gather_work(CudaContext& context, const AttentionCase& shape)
{
    const auto lists = std::make_shared<const Lists>(context, shape, 1);
    const auto bytes = static_cast<size_t>(shape.used * row_bytes(shape.type, shape.head_dim));
    const auto host = std::make_shared<std::vector<std::byte>>(2 * bytes);
    const auto body = [=, &context](int) {
        for (int32_t head = 0; head < lists->shape.kv_heads; ++head)
            cuda::gather({.shape = lists->shape,
                          .pool = lists->pool(),
                          .lists = lists->lists(0),
                          .head = head,
                          .keys = host->data(),
                          .values = host->data() + bytes},
                         context);
    };
    return {body, 1, list_bytes(*lists)};
}

} // namespace palimpsest::bench
