// Recorded tokens: a replay must give the same bits as the same operations, run one by one on the current contents
// of backend memory. Operations that cannot be recorded are refused.

#include <functional>
#include <initializer_list>
#include <limits>
#include <map>

#include "kernels/base/convert.h"
#include "kernels/base/error.h"
#include "tests/support/catch.h"
#include "tests/unit/kernels/attention_case.h"

namespace palimpsest::kernels {
namespace {

using namespace test;

constexpr int32_t vocabulary = 50;
constexpr size_t max_evicted = 3;

std::vector<float> unwritten(int64_t floats)
{
    return std::vector<float>(static_cast<size_t>(floats), std::numeric_limits<float>::quiet_NaN());
}

// A weight with random rows in backend memory.
class RandomWeight {
public:
    RandomWeight(Backend& backend, std::mt19937& random, DType type, std::initializer_list<int64_t> rows,
                 int64_t cols)
    {
        std::vector<HostMatrix> parts;
        for (const int64_t count : rows) {
            const auto x = normal_floats(random, static_cast<size_t>(count * cols), 0.2f);
            bytes_.push_back(std::vector<std::byte>(static_cast<size_t>(count * row_bytes(type, cols))));
            from_f32(type, x.data(), bytes_.back().data(), count * cols);
            parts.push_back({type, nullptr, count, cols});
        }
        for (size_t i = 0; i < parts.size(); ++i)
            parts[i].data = bytes_[i].data();
        placed_ = backend.load(parts);
    }
    const Weight* operator->() const { return placed_.get(); }
    const Weight* get() const { return placed_.get(); }

private:
    std::vector<std::vector<std::byte>> bytes_;
    std::unique_ptr<Weight> placed_;
};

struct Layer {
    Layer(Backend& backend, const Case& c, const Input& in, int32_t capacity, int32_t dim, uint32_t seed)
        : random(seed), kv(backend, c.shape(), c.type, capacity, seed),
          qkv_weight(backend, random, DType::BF16,
                     {c.shape().query_heads * int64_t{c.head_dim}, c.kv_heads * int64_t{c.head_dim},
                      c.kv_heads * int64_t{c.head_dim}},
                     dim),
          out_weight(backend, random, DType::F16, {dim}, c.shape().query_heads * int64_t{c.head_dim}),
          gate_up(backend, random, DType::BF16, {2 * 72}, dim), down(backend, random, DType::F32, {dim}, 72),
          signals(backend, c, kv.order_stride)
    {
        for (size_t h = 0; h < in.lists.size(); ++h)
            kv.fill(h, in.lists[h], !c.retrieve);
        const auto tokens = static_cast<size_t>(c.kv_heads * kv.order_stride);
        std::uniform_real_distribution<double> of_sum(0, 9);
        std::vector<double> drawn(tokens);
        for (double& x : drawn)
            x = of_sum(random);
        sum = to_device(backend, drawn);
        count = to_device(backend, std::vector<double>(tokens, 7.0));
        dropped = to_device(backend, std::vector<uint32_t>(static_cast<size_t>(c.kv_heads) * max_evicted));
    }
    ListStatistics statistics() const { return {sum.data<double>(), count.data<double>(), kv.order_stride}; }

    std::mt19937 random;
    KvFixture kv;
    RandomWeight qkv_weight, out_weight, gate_up, down;
    SignalBuffers signals;
    Buffer sum, count, dropped;
};

// One decoding step of a small model, in memory of its own. Decoders with equal arguments hold the same numbers.
class Decoder {
public:
    Decoder(Backend& backend, const Case& c, int layers, int32_t max_used)
        : backend_(backend), case_(c), in_(c), most_used_(max_used), random_(c.seed),
          table_(backend, random_, DType::BF16, {30, vocabulary - 30}, dim),
          head_(backend, random_, DType::BF16, {vocabulary}, dim),
          norm_(to_device(backend, normal_floats(random_, dim))),
          angles_(to_device(backend, rope_table(max_used + 2, c.rotary_dim))),
          x_(to_device(backend, unwritten(dim))), qkv_(to_device(backend, unwritten(c.shape().qkv_width()))),
          heads_(to_device(backend, unwritten(width()))), logits_(to_device(backend, unwritten(vocabulary))),
          logged_(to_device(backend, unwritten(vocabulary))),
          resident_(backend, (1 + c.used.size()) * sizeof(int32_t)),
          plan_(backend, c.used.size() * sizeof(ListPlan))
    {
        for (int l = 0; l < layers; ++l)
            layers_.push_back(std::make_unique<Layer>(backend, case_, in_, max_used + 2, dim,
                                                      c.seed + 100 + static_cast<uint32_t>(l)));
        if (!c.retrieve) return;
        pages_ = c.retrieval.pages;
        pages_.page_stride = max_used / pages_.page + 2;
        for (auto& layer : layers_) {
            bounds_.push_back(to_device(backend, unwritten(c.kv_heads * pages_.page_stride * 2 * c.head_dim)));
            bound_pages(*layer, 0);
        }
    }

    // Sets the input of the next token, for queue(false) and queue(true). `used`: the lengths of each layer's
    // lists; with evict_tokens(), `evicted` tokens of each list are evicted after the token.
    void prepare(int32_t id, const std::vector<int32_t>& used, int32_t position, uint32_t evicted = 0)
    {
        id_ = id;
        std::vector<ListPlan> plan;
        for (const int32_t before : used) {
            const auto size = static_cast<uint32_t>(before) + 1;
            plan.push_back({.size = size, .evicted = evicted, .first = 1, .end = size - 2});
        }
        backend_.upload(plan_.data(), plan.data(), plan.size() * sizeof(ListPlan));
        for (auto& layer : layers_)
            layer->kv.used = used;
        std::vector<int32_t> words = used;
        words.insert(words.begin(), id);
        backend_.upload(resident_.data(), words.data(), words.size() * sizeof(int32_t));
        if (case_.keys_rotated) {
            const auto all = rope_table(position + 1, case_.rotary_dim);
            backend_.upload(angles_.data(), all.data() + int64_t{position} * case_.rotary_dim,
                            static_cast<size_t>(case_.rotary_dim) * sizeof(float));
        }
        for (const Buffer* output : {&x_, &qkv_, &heads_, &logits_, &logged_})
            spoil(*output);
        for (auto& layer : layers_)
            for (const Buffer* signal : layer->signals.all())
                spoil(*signal);
    }

    void evict_tokens() { evicts_ = true; }

    // Enables norms of heads and of layer outputs, factors, a soft cap of the logits, and GELU.
    void use_every_feature()
    {
        const auto floats = static_cast<size_t>(width());
        head_norm_ = to_device(backend_, normal_floats(random_, floats));
        embed_factor_ = 3.0f;
        activation_ = Activation::GeluTanh;
        added_ = {.norm = norm(), .factor = 0.4f};
        of_logits_ = {.factor = 0.5f, .soft_cap = 3.0f};
    }

    // Queues the operations of one token; `resident`: they read everything that changes from token to token from
    // backend memory.
    void queue(bool resident)
    {
        const auto* id = resident ? resident_.data<int32_t>() : nullptr;
        const std::span<const int32_t> ids = resident ? std::span<const int32_t>() : std::span(&id_, 1);
        backend_.embed(
            {.table = table_.get(), .ids = ids, .device_id = id, .y = x_.data<float>(), .factor = embed_factor_});
        for (size_t l = 0; l < layers_.size(); ++l)
            queue_layer(l, resident);
        linear({.x = x_.data<float>(),
                .norm = norm(),
                .weight = head_.get(),
                .y = logits_.data<float>(),
                .finish = of_logits_});
        backend_.copy(logged_.data(), logits_.data(), vocabulary * sizeof(float));
    }

    // Call after a token: updates the bounds of the retrieval page that the token was added to.
    void end_token()
    {
        if (!case_.retrieve) return;
        for (auto& layer : layers_) {
            const int32_t first = *std::min_element(layer->kv.used.begin(), layer->kv.used.end());
            for (int32_t& used : layer->kv.used)
                ++used;
            bound_pages(*layer, first);
        }
    }

    // All outputs of the token, and the contents of the pools.
    std::vector<std::vector<float>> results() const
    {
        std::vector<std::vector<float>> all;
        for (const Buffer* output : {&x_, &heads_, &logged_})
            all.push_back(read(*output));
        for (const auto& layer : layers_) {
            for (const Buffer* signal : layer->signals.all())
                all.push_back(read(*signal));
            for (const Buffer* state : {&layer->kv.keys, &layer->kv.values, &layer->kv.order, &layer->sum,
                                        &layer->count, &layer->dropped})
                all.push_back(read(*state));
        }
        return all;
    }

private:
    static constexpr int32_t dim = 40;
    void spoil(const Buffer& buffer) const
    {
        backend_.upload(buffer.data(), unwritten(static_cast<int64_t>(buffer.bytes() / sizeof(float))).data(),
                        buffer.bytes());
    }
    std::vector<float> read(const Buffer& buffer) const
    {
        return to_host<float>(backend_, buffer, buffer.bytes() / sizeof(float));
    }
    int64_t width() const { return case_.shape().query_heads * int64_t{case_.head_dim}; }
    RmsNorm norm() const { return {norm_.data<float>(), 1e-5f}; }
    Rotation rotation() const
    {
        return {{angles_.data<float>(), most_used_ + 2, case_.rotary_dim}, case_.keys_rotated};
    }
    void linear(LinearArgs args)
    {
        args.rows = 1;
        args.phase = Phase::Decode;
        backend_.linear(args);
    }
    PageBounds bounds(const Layer& layer) const
    {
        PageBounds pages = pages_;
        for (size_t l = 0; l < bounds_.size(); ++l)
            if (layers_[l].get() == &layer) pages.bounds = bounds_[l].data<float>();
        return pages;
    }
    void bound_pages(const Layer& layer, int64_t first)
    {
        backend_.bound_pages({.shape = case_.shape(),
                              .pool = layer.kv.pool(),
                              .lists = layer.kv.view(),
                              .rotation = rotation(),
                              .first = first,
                              .pages = bounds(layer)});
    }
    void queue_eviction(const Layer& layer)
    {
        const SignalRequest seen = layer.signals.request();
        backend_.accumulate({.kv_heads = case_.kv_heads,
                             .plan = plan_.data<uint32_t>(),
                             .max_size = most_used_ + 1,
                             .columns = seen.sums,
                             .column_stride = seen.stride,
                             .divisor = case_.group,
                             .rows = 1,
                             .counted = 1,
                             .statistics = layer.statistics()});
        backend_.evict({.kv_heads = case_.kv_heads,
                        .plan = plan_.data<uint32_t>(),
                        .max_size = most_used_ + 1,
                        .max_evicted = max_evicted,
                        .rule = {.select = SelectRule::Lowest, .score = ScoreRule::Mean},
                        .statistics = layer.statistics(),
                        .order = layer.kv.order.data<uint32_t>(),
                        .order_stride = layer.kv.order_stride,
                        .dropped = layer.dropped.data<uint32_t>(),
                        .dropped_stride = max_evicted});
    }
    void queue_layer(size_t l, bool resident)
    {
        const Layer& layer = *layers_[l];
        linear({.x = x_.data<float>(), .norm = norm(), .weight = layer.qkv_weight.get(), .y = qkv_.data<float>()});
        if (head_norm_.data())
            backend_.prepare_heads({.shape = case_.shape(),
                                    .qkv = qkv_.data<float>(),
                                    .rows = 1,
                                    .query_norm = {head_norm_.data<float>(), 1e-6f},
                                    .key_norm = {head_norm_.data<float>(), 1e-6f},
                                    .across_heads = l % 2 == 1,
                                    .query_factor = 1.5f,
                                    .query_factor_dims = case_.rotary_dim});
        KvLists lists = layer.kv.view();
        const std::vector<int32_t> most(layer.kv.used.size(), most_used_);
        if (resident) {
            lists.used = most.data();
            lists.device_used = resident_.data<int32_t>() + 1;
        }
        PageRetrieval retrieval = case_.retrieval;
        if (case_.retrieve) retrieval.pages = bounds(layer);
        backend_.decode_attend({.shape = case_.shape(),
                                .qkv = qkv_.data<float>(),
                                .pool = layer.kv.pool(),
                                .lists = lists,
                                .rotation = rotation(),
                                .out = heads_.data<float>(),
                                .signals = layer.signals.request(),
                                .retrieval = retrieval,
                                .window = case_.window});
        if (evicts_) queue_eviction(layer);
        linear({.x = heads_.data<float>(),
                .norm = {},
                .weight = layer.out_weight.get(),
                .y = x_.data<float>(),
                .accumulate = true,
                .finish = added_});
        backend_.feed_forward({.x = x_.data<float>(),
                               .rows = 1,
                               .norm = norm(),
                               .gate_up = layer.gate_up.get(),
                               .down = layer.down.get(),
                               .phase = Phase::Decode,
                               .activation = activation_,
                               .finish = added_});
    }

    Backend& backend_;
    Case case_;
    Input in_;
    int32_t most_used_;
    std::mt19937 random_;
    RandomWeight table_, head_;
    Buffer norm_, angles_, x_, qkv_, heads_, logits_, logged_;
    Buffer resident_; // i32: the token id, then the lengths of the lists
    Buffer plan_;
    bool evicts_ = false;
    Buffer head_norm_;
    float embed_factor_ = 1.0f;
    Activation activation_ = Activation::Silu;
    RowFinish added_{}, of_logits_{};
    std::vector<std::unique_ptr<Layer>> layers_;
    PageBounds pages_;
    std::vector<Buffer> bounds_;
    int32_t id_ = 0;
};

// Lengths of the lists for the next token: they grow by one, and now and then shrink by several.
std::vector<int32_t> next_lengths(const Case& c, std::vector<int32_t> used, int step)
{
    for (size_t h = 0; h < used.size(); ++h) {
        ++used[h];
        if (!c.retrieve && step % 13 == 12) used[h] = std::max(0, used[h] - 5 - 40 * static_cast<int32_t>(h));
    }
    return used;
}

struct Course {
    Case shape; // `used` has the initial lengths of the lists
    int layers = 1, tokens = 40;
    bool every_feature = false;
};

std::ostream& operator<<(std::ostream& out, const Course& course)
{
    return out << course.shape << ", layers " << course.layers;
}

Course course(int32_t group, int32_t head_dim, DType type, bool keys_rotated, std::vector<int32_t> used)
{
    Course made;
    Case& c = made.shape;
    c.group = group;
    c.kv_heads = static_cast<int32_t>(used.size());
    c.head_dim = c.rotary_dim = head_dim;
    c.type = type;
    c.keys_rotated = keys_rotated;
    c.rows = 0;
    c.wanted = 1;
    c.every_signal = true;
    c.used = std::move(used);
    c.seed = static_cast<uint32_t>(900 + head_dim + group);
    return made;
}

// Lists begin just below multiples of 64, the number of ranks of a split, so that splits are added and removed.
// With retrieval, lists grow past the length from which only a part of them is read.
std::vector<Course> courses()
{
    std::vector<Course> all{
        course(2, 64, DType::F16, false, {120, 3}), course(4, 128, DType::BF16, true, {245, 126}),
        course(3, 24, DType::F32, false, {0, 122}), course(1, 64, DType::BF16, false, {127, 128, 129}),
        course(2, 64, DType::Q8_0, true, {90, 250})};
    all[0].layers = 2;
    all[1].shape.outside_newest = 4;
    all[1].shape.statistic = RowStatistic::Entropy;
    all[2].shape.rotary_dim = 12;
    all[3].shape.statistic = RowStatistic::Gini;
    for (const double top_p : {0.0, 0.8}) {
        Course c = course(2, 64, top_p > 0 ? DType::F32 : DType::F16, top_p > 0, {70, 118});
        c.shape.retrieve = true;
        c.shape.retrieval.tokens = 140;
        c.shape.retrieval.max_pages = 5;
        c.shape.retrieval.top_p = top_p;
        all.push_back(c);
    }
    // Windows: one is longer than the initial lists, the other begins inside a split.
    for (const int32_t window : {130, 20}) {
        Course c = course(window == 20 ? 3 : 2, window == 20 ? 24 : 64, DType::BF16, window == 20, {5, 118});
        c.every_feature = true;
        c.layers = 2;
        c.shape.window = window;
        c.shape.soft_cap = 4;
        c.shape.statistic = RowStatistic::Density;
        all.push_back(c);
    }
    return all;
}

void require_same(const Decoder& one, const Decoder& other)
{
    const auto expected = one.results(), got = other.results();
    REQUIRE(got.size() == expected.size());
    for (size_t i = 0; i < got.size(); ++i) {
        CAPTURE(i);
        REQUIRE(same_bits(got[i], expected[i]));
    }
}

std::vector<TestBackend> recording_backends()
{
    std::vector<TestBackend> all;
    for (const TestBackend& on : every_backend())
        if (on.open()->selects()) all.push_back(on);
    return all;
}

TEST_CASE("a replayed token has the bits of a token that is run operation by operation", "[recording]")
{
    const auto backends = recording_backends();
    const std::vector<Course> all = courses();
    for (size_t i = 0; i < all.size(); ++i) {
        const Course& course = all[i];
        const Case& c = course.shape;
        for (size_t b = 0; b < backends.size(); ++b) {
            const TestBackend& on = backends[b];
            if (!takes(on, i + b, i < 2 ? 1 : 2)) continue;
            CAPTURE(course, on);
            Backend& backend = *on.open();
            const int32_t most = c.max_used() + course.tokens;
            Decoder eager(backend, c, course.layers, most), replayed(backend, c, course.layers, most);
            for (Decoder* decoder : {&eager, &replayed})
                if (course.every_feature) decoder->use_every_feature();
            std::unique_ptr<Recording> recording;
            std::vector<int32_t> used = c.used;
            for (int step = 0; step < course.tokens; ++step) {
                CAPTURE(step);
                const int32_t id = (step * 17 + 3) % vocabulary, position = most - course.tokens + step;
                for (Decoder* decoder : {&eager, &replayed})
                    decoder->prepare(id, used, position);
                eager.queue(false);
                if (step == 0)
                    replayed.queue(true);
                else
                    REQUIRE(backend.replay(*recording));
                require_same(eager, replayed);
                for (Decoder* decoder : {&eager, &replayed})
                    decoder->end_token();
                if (step == 0) {
                    recording = backend.record([&] { replayed.queue(true); });
                    REQUIRE(recording);
                }
                used = next_lengths(c, used, step);
            }
        }
    }
}

Error refusal_of(const std::function<void()>& body)
{
    try {
        body();
    } catch (const Error& error) {
        return error;
    }
    FAIL("nothing was refused");
    throw;
}

// One token of a decoder, decoded repeatedly.
class OneToken {
public:
    OneToken(Backend& backend, int32_t max_used)
        : backend_(backend), decoder_(backend, small().shape, small().layers, max_used)
    {
        prepare();
    }
    void prepare() { decoder_.prepare(5, small().shape.used, 0); }
    void queue(bool resident = true) { decoder_.queue(resident); }
    std::unique_ptr<Recording> record()
    {
        return backend_.record([&] { queue(); });
    }
    std::vector<std::vector<float>> results() const { return decoder_.results(); }
    bool gives(const std::vector<std::vector<float>>& expected) const
    {
        const auto got = results();
        return std::equal(got.begin(), got.end(), expected.begin(), expected.end(),
                          [](const auto& a, const auto& b) { return same_bits(a, b); });
    }

private:
    static Course small() { return course(2, 64, DType::F16, false, {9, 30}); }

    Backend& backend_;
    Decoder decoder_;
};

TEST_CASE("an operation that cannot be recorded is refused by name, and the backend still works", "[recording]")
{
    for (const TestBackend& on : recording_backends()) {
        CAPTURE(on);
        Backend& backend = *on.open();
        OneToken token(backend, 200);
        const Error cold = refusal_of([&] { token.record(); });
        CHECK(cold.kind() == ErrorKind::Internal);
        CHECK_THAT(cold.what(),
                   Catch::Contains("decode_attend claims working memory while operations are recorded"));

        token.queue();
        const auto expected = token.results();
        token.prepare();
        const auto before = token.results();
        auto other = std::make_unique<Buffer>(backend, size_t{1} << 20);
        const auto recording = token.record();
        REQUIRE(recording);
        CHECK(token.gives(before)); // recording runs no operation
        REQUIRE(!token.gives(expected));
        other = nullptr;
        REQUIRE(backend.replay(*recording));
        REQUIRE(token.gives(expected));

        std::vector<std::byte> host(size_t{1} << 17);
        const Buffer memory(backend, host.size());
        const std::pair<std::string, std::function<void()>> refused[] = {
            {"upload sends host memory", [&] { backend.upload(memory.data(), host.data(), 16); }},
            {"upload sends host memory", [&] { backend.upload(memory.data(), host.data(), host.size()); }},
            {"download waits for the device", [&] { backend.download(host.data(), memory.data(), 16); }},
            {"embed sends host memory", [&] { token.queue(false); }},
            {"allocate claims device memory", [&] { const Buffer more(backend, 16); }},
            {"record begins another recording", [&] { token.record(); }},
            {"replay runs another recording", [&] { backend.replay(*recording); }},
        };
        for (const auto& [sentence, operation] : refused) {
            CAPTURE(sentence);
            const Error error = refusal_of([&] {
                backend.record([&] {
                    backend.copy(memory.data(), memory.data<std::byte>() + 64, 16);
                    operation();
                });
            });
            CHECK(error.kind() == ErrorKind::Internal);
            CHECK_THAT(error.what(), Catch::Contains(sentence));
            token.prepare();
            REQUIRE(backend.replay(*recording));
            REQUIRE(token.gives(expected));
        }
        CHECK_THROWS_AS(backend.record([] { throw 17; }), int);
        token.prepare();
        token.queue(false);
        CHECK(token.gives(expected));
    }
}

TEST_CASE("replaying a recording whose working memory has moved runs nothing", "[recording]")
{
    for (const TestBackend& on : recording_backends()) {
        CAPTURE(on);
        Backend& backend = *on.open();
        OneToken token(backend, 200);
        token.queue();
        const auto expected = token.results();
        int moved = 0;
        for (const int32_t longer : {700, 1500, 3100, 6300}) {
            auto recording = token.record();
            const uint64_t scratch = backend.scratch_bytes();
            OneToken(backend, longer).queue();
            REQUIRE(backend.scratch_bytes() > scratch);
            token.prepare();
            const auto before = token.results();
            if (backend.replay(*recording)) continue; // the memory may not have moved
            ++moved;
            CHECK(token.gives(before));
            token.queue();
            CHECK(token.gives(expected));
            recording = token.record();
            token.prepare();
            REQUIRE(backend.replay(*recording));
            CHECK(token.gives(expected));
        }
        CHECK(moved > 0);
    }
}

bool replay(const TestBackend& on, const Recording& recording, [[maybe_unused]] bool branches_last)
{
#ifdef PALIMPSEST_EMULATED_CUDA
    if (on.emulated() && branches_last) {
        const tests::DescendingOrder order;
        return on.open()->replay(recording);
    }
#endif
    return on.open()->replay(recording);
}

#ifdef PALIMPSEST_EMULATED_CUDA
// Nine products directly follow a kernel: four in each of two layers, and the logits.
TEST_CASE("products of a recorded token overlap the kernels ahead of them from sm_90 on", "[recording]")
{
    for (const auto& [capability, expected] : {std::pair(90, 9), std::pair(75, 0)}) {
        CAPTURE(capability);
        const auto backend = tests::open_emulated_cuda(capability);
        const Course small = course(2, 64, DType::BF16, false, {9, 30});
        Decoder decoder(*backend, small.shape, 2, 60);
        decoder.prepare(5, small.shape.used, 0);
        const uint64_t before = tests::overlapping_launches();
        decoder.queue(true);
        CHECK(tests::overlapping_launches() == before);
        const auto recording = backend->record([&] { decoder.queue(true); });
        REQUIRE(recording);
        CHECK(backend->replay(*recording));
        CHECK(tests::overlapping_launches() - before == static_cast<uint64_t>(expected));
    }
}
#endif

TEST_CASE("a replayed token evicts like a token that is run operation by operation", "[recording]")
{
    for (const TestBackend& on : recording_backends()) {
        CAPTURE(on);
        Backend& backend = *on.open();
        const Course small = course(2, 64, DType::BF16, false, {9, 30});
        constexpr int32_t most = 60;
        Decoder eager(backend, small.shape, 3, most), replayed(backend, small.shape, 3, most);
        for (Decoder* decoder : {&eager, &replayed})
            decoder->evict_tokens();
        std::unique_ptr<Recording> recording;
        std::vector<int32_t> used = small.shape.used;
        for (int step = 0; step < 24; ++step) {
            CAPTURE(step);
            const auto evicted = static_cast<uint32_t>(step % 5 == 4 ? max_evicted : step % 2);
            for (Decoder* decoder : {&eager, &replayed})
                decoder->prepare(step, used, 0, evicted);
            eager.queue(false);
            if (step == 0)
                replayed.queue(true);
            else
                REQUIRE(replay(on, *recording, step % 2 == 0));
            require_same(eager, replayed);
            if (step == 0) recording = backend.record([&] { replayed.queue(true); });
            for (int32_t& length : used)
                length += 1 - static_cast<int32_t>(evicted);
        }
    }
}

#ifdef PALIMPSEST_EMULATED_CUDA
TEST_CASE("a GPU reports the capability that its code was compiled for", "[recording]")
{
    CHECK(tests::open_emulated_cuda(90)->simd_target() == "sm_90");
    // Code for an older GPU, which the driver compiled.
    CHECK(tests::open_emulated_cuda(90, 75)->simd_target() == "sm_75");
    CHECK(tests::open_emulated_cuda(75, 75)->simd_target() == "sm_75");
    CHECK(tests::open_cuda_without_ptx_version(90)->simd_target() == "sm_90");
    CHECK(tests::open_cuda_without_ptx_version(90, 75)->simd_target() == "sm_75");
}

TEST_CASE("a layer of a decoded token has six launches, and nine if it evicts", "[recording]")
{
    for (const TestBackend& on : recording_backends()) {
        if (!on.emulated()) continue;
        Backend& backend = *on.open();
        Course c = course(2, 64, DType::F16, false, {9, 30});
        c.shape.every_signal = false; // sums only
        const auto nodes = [&](int layers, bool evicts) {
            Decoder decoder(backend, c.shape, layers, 200);
            if (evicts) decoder.evict_tokens();
            decoder.prepare(5, c.shape.used, 0);
            decoder.queue(true);
            return tests::recorded_nodes(*backend.record([&] { decoder.queue(true); }));
        };
        constexpr size_t others = 4; // two for the parts of the embedding, one for the logits, one copy
        for (const size_t layers : {size_t{1}, size_t{3}}) {
            CHECK(nodes(static_cast<int>(layers), false) == others + 6 * layers);
            CHECK(nodes(static_cast<int>(layers), true) == others + 9 * layers);
        }
    }
}

TEST_CASE("signals of a decoded token are computed beside the next layer", "[recording]")
{
    for (const TestBackend& on : recording_backends()) {
        if (!on.emulated()) continue;
        Backend& backend = *on.open();
        Course c = course(2, 64, DType::F16, false, {9, 30});
        c.shape.every_signal = false; // sums only
        const auto chain = [&](int layers) {
            Decoder decoder(backend, c.shape, layers, 200);
            decoder.evict_tokens();
            decoder.prepare(5, c.shape.used, 0);
            decoder.queue(true);
            return tests::longest_chain(*backend.record([&] { decoder.queue(true); }));
        };
        CHECK(chain(9) - chain(8) == 5); // the other four of a layer's nine launches run beside them
    }
}
#endif

} // namespace
} // namespace palimpsest::kernels
