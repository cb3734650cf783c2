#include "tests/unit/policy/policy_stream.h"
#include "tests/support/catch.h"

#include <algorithm>
#include <cmath>

namespace palimpsest::tests {

namespace {

// splitmix64: hashes a key, so that scores do not depend on the order of the calls.
uint64_t mixed(uint64_t x)
{
    x += 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

double random_score(uint64_t seed, uint64_t values, int layer, int head, int chunk, uint32_t stream)
{
    uint64_t key = mixed(seed);
    for (const uint64_t part : {static_cast<uint64_t>(layer), static_cast<uint64_t>(head),
                                static_cast<uint64_t>(chunk), static_cast<uint64_t>(stream)}) {
        key = mixed(key ^ part);
    }
    return static_cast<double>(key % values) / static_cast<double>(values);
}

} // namespace

void no_scores(int, int, int, uint32_t, double&, double&) {}

ScoreEntry constant_scores(uint64_t seed, uint64_t values)
{
    return [=](int layer, int head, int, uint32_t stream, double& sum, double& count) {
        sum = random_score(seed, values, layer, head, 0, stream);
        count = 1;
    };
}

ScoreEntry growing_scores(uint64_t seed, uint64_t values)
{
    return [=](int layer, int head, int chunk, uint32_t stream, double& sum, double& count) {
        sum += random_score(seed, values, layer, head, chunk + 1, stream);
        count += 1;
    };
}

SyntheticSignals::Received SyntheticSignals::received(int layer, int head, int chunk, uint32_t stream) const
{
    if (given) return given(layer, head, chunk, stream);
    Received out{};
    for (size_t g = 0; g < out.size(); ++g)
        out[g] = random_score(seed + g, values, layer, head, chunk + 1, stream);
    return out;
}

float SyntheticSignals::entropy(int layer, int head, int chunk, uint32_t stream) const
{
    double sum = 0;
    for (const double a : received(layer, head, chunk, stream))
        sum -= a * std::log(a + 1e-10);
    return static_cast<float>(sum);
}

double SyntheticSignals::row_statistic(int layer, int chunk) const
{
    return given_statistic ? given_statistic(layer, chunk) : random_score(seed, values, layer, -1, chunk, 0);
}

engine::PolicyContext context_of(const StreamShape& shape)
{
    return {.layers = shape.layers,
            .kv_heads = shape.heads,
            .budget = shape.budget,
            .pins = shape.pins,
            .context = shape.context,
            .chunk = shape.chunk};
}

PolicyStream::PolicyStream(const std::string& spec, StreamShape shape, SyntheticSignals signals)
    : shape_(shape), signals_(std::move(signals)),
      policy_(engine::make_policy(engine::PolicySpec::parse(spec), context_of(shape))),
      lists_(static_cast<size_t>(shape.layers * shape.heads))
{
}

void PolicyStream::feed(int tokens)
{
    append(tokens);
    for (int layer = 0; layer < shape_.layers; ++layer) {
        for (int head = 0; head < shape_.heads; ++head)
            score(layer, head);
        observe(layer, tokens);
    }
    for (int layer = 0; layer < shape_.layers; ++layer)
        evict(layer);
    check_budgets();
    ++chunks_;
}

void PolicyStream::end_prefill()
{
    policy_->end_prefill();
    for (int layer = 0; layer < shape_.layers; ++layer)
        observe(layer, 0);
    for (int layer = 0; layer < shape_.layers; ++layer)
        evict(layer);
    check_budgets();
}

void PolicyStream::feed_all(int tokens, int chunk)
{
    for (int done = 0; done < tokens; done += chunk)
        feed(std::min(chunk, tokens - done));
}

PolicyStream PolicyStream::with(std::unique_ptr<engine::Policy> policy) const
{
    PolicyStream other = *this;
    other.policy_ = std::move(policy);
    return other;
}

void PolicyStream::append(int tokens)
{
    for (int t = 0; t < tokens; ++t, ++tokens_) {
        for (List& list : lists_) {
            list.stream.push_back(tokens_);
            list.sum.push_back(0);
            list.count.push_back(0);
            list.moments.resize(list.moments.size() + 2 * SyntheticSignals::group, 0.0);
        }
    }
}

void PolicyStream::score(int layer, int head)
{
    const bool moments = policy_->signals().head_moments || signals_.by_rows;
    List& to = list(layer, head);
    for (size_t j = 0; j < to.stream.size(); ++j) {
        if (!moments) {
            signals_.score(layer, head, chunks_, to.stream[j], to.sum[j], to.count[j]);
            continue;
        }
        const SyntheticSignals::Received received = signals_.received(layer, head, chunks_, to.stream[j]);
        for (size_t g = 0; g < received.size(); ++g) {
            to.moments[(j * received.size() + g) * 2] += received[g];
            to.moments[(j * received.size() + g) * 2 + 1] += received[g] * received[g];
            to.sum[j] += received[g] / static_cast<double>(received.size());
        }
        to.count[j] += 1;
    }
}

std::vector<engine::ListState> PolicyStream::states(int layer) const
{
    const engine::SignalNeeds needs = policy_->signals();
    std::vector<engine::ListState> out;
    for (int head = 0; head < shape_.heads; ++head) {
        const List& from = list(layer, head);
        engine::ListState& state = out.emplace_back();
        state.stream = from.stream;
        if (needs.any()) {
            state.sum = from.sum;
            state.count = from.count;
        }
        if (needs.head_moments) state.moments = from.moments;
    }
    return out;
}

void PolicyStream::observe(int layer, int rows)
{
    const engine::SignalNeeds needs = policy_->signals();
    engine::LayerObservation seen{.rows = rows};
    std::vector<std::vector<float>> entropies(static_cast<size_t>(shape_.heads));
    if (rows > 0 && needs.row_statistic != kernels::RowStatistic::None)
        seen.row_statistic = signals_.row_statistic(layer, chunks_);
    for (int head = 0; rows > 0 && needs.entropies && head < shape_.heads; ++head) {
        auto& own = entropies[static_cast<size_t>(head)];
        for (const uint32_t stream : list(layer, head).stream)
            own.push_back(signals_.entropy(layer, head, chunks_, stream));
        seen.entropies.push_back(own);
    }
    policy_->observe(layer, states(layer), seen);
}

void PolicyStream::evict(int layer)
{
    std::vector<std::vector<uint32_t>> dropped(3, {7, 7}); // contents from an earlier call do not matter
    const auto heads = states(layer);
    policy_->select(layer, heads, dropped);
    REQUIRE(dropped.size() == heads.size());
    const auto merges = policy_->merges();
    REQUIRE((merges.empty() || merges.size() == heads.size()));
    for (int head = 0; head < shape_.heads; ++head) {
        List& own = list(layer, head);
        own.merged.clear();
        if (!merges.empty()) {
            for (const engine::Merge& one : merges[static_cast<size_t>(head)])
                merge(own, one);
        }
        drop(own, dropped[static_cast<size_t>(head)]);
    }
}

void PolicyStream::check_budgets() const
{
    if (!policy_->bounded()) return;
    int64_t total = 0;
    for (int layer = 0; layer < shape_.layers; ++layer) {
        for (int head = 0; head < shape_.heads; ++head) {
            const auto size = std::ssize(list(layer, head).stream);
            REQUIRE(size <= policy_->list_budget(layer, head));
            total += size;
        }
    }
    REQUIRE(total <= policy_->total_budget());
}

void PolicyStream::merge(List& list, const engine::Merge& merge)
{
    const auto mean_into = [&](std::vector<double>& values, size_t width) {
        for (size_t i = 0; i < width; ++i) {
            double sum = 0;
            for (const uint32_t rank : merge.of)
                sum += values.at(rank * width + i);
            values.at(merge.into * width + i) = sum / static_cast<double>(merge.of.size());
        }
    };
    REQUIRE(std::is_sorted(merge.of.begin(), merge.of.end()));
    REQUIRE(std::binary_search(merge.of.begin(), merge.of.end(), merge.into));
    if (merge.of.size() < 2) return;
    mean_into(list.sum, 1);
    mean_into(list.count, 1);
    mean_into(list.moments, 2 * SyntheticSignals::group);
    auto& streams = list.merged.emplace_back();
    streams.push_back(list.stream.at(merge.into));
    for (const uint32_t rank : merge.of)
        streams.push_back(list.stream.at(rank));
}

void PolicyStream::drop(List& list, const std::vector<uint32_t>& ranks)
{
    constexpr size_t moments = 2 * SyntheticSignals::group;
    list.evicted.clear();
    if (ranks.empty()) return;
    List left;
    left.merged = std::move(list.merged);
    size_t next = 0;
    for (size_t rank = 0; rank < list.stream.size(); ++rank) {
        if (next < ranks.size() && ranks[next] == rank) {
            ++next;
            left.evicted.push_back(list.stream[rank]);
            continue;
        }
        left.stream.push_back(list.stream[rank]);
        left.sum.push_back(list.sum[rank]);
        left.count.push_back(list.count[rank]);
        const auto at = list.moments.begin() + static_cast<std::ptrdiff_t>(rank * moments);
        left.moments.insert(left.moments.end(), at, at + static_cast<std::ptrdiff_t>(moments));
    }
    REQUIRE(next == ranks.size()); // otherwise the ranks do not ascend, repeat, or are outside the list
    list = std::move(left);
}

std::vector<std::vector<uint32_t>> PolicyStream::all_kept() const
{
    std::vector<std::vector<uint32_t>> out;
    for (const List& list : lists_)
        out.push_back(list.stream);
    return out;
}

std::vector<uint32_t> PolicyStream::state_words() const
{
    const std::vector<std::byte> bytes = policy_->state();
    REQUIRE(bytes.size() % 4 == 0);
    std::vector<uint32_t> words;
    for (size_t at = 8; at < bytes.size(); at += 4) {
        uint32_t word = 0;
        for (size_t i = 0; i < 4; ++i)
            word |= std::to_integer<uint32_t>(bytes[at + i]) << (8 * i);
        words.push_back(word);
    }
    return words;
}

} // namespace palimpsest::tests
