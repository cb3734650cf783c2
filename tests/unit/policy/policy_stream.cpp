#include "tests/unit/policy/policy_stream.h"
#include "tests/support/catch.h"

#include <algorithm>

namespace palimpsest::tests {

namespace {

// splitmix64: a value for any key, so that scores do not depend on the order they are asked in.
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

PolicyStream::PolicyStream(const std::string& spec, StreamShape shape, ScoreEntry score)
    : shape_(shape), score_(std::move(score)),
      policy_(engine::make_policy(
          engine::PolicySpec::parse(spec),
          {.layers = shape.layers, .kv_heads = shape.heads, .budget = shape.budget, .pins = shape.pins})),
      lists_(static_cast<size_t>(shape.layers * shape.heads))
{
}

void PolicyStream::feed(int tokens)
{
    append(tokens);
    for (int layer = 0; layer < shape_.layers; ++layer)
        evict(layer);
    ++chunks_;
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
        }
    }
}

void PolicyStream::evict(int layer)
{
    const bool scored = policy_->signals().any();
    std::vector<engine::ListState> heads;
    for (int head = 0; head < shape_.heads; ++head) {
        List& list = lists_[static_cast<size_t>(layer * shape_.heads + head)];
        if (!scored) {
            heads.push_back({.stream = list.stream, .sum = {}, .count = {}});
            continue;
        }
        for (size_t j = 0; j < list.stream.size(); ++j) {
            score_(layer, head, chunks_, list.stream[j], list.sum[j], list.count[j]);
        }
        heads.push_back({.stream = list.stream, .sum = list.sum, .count = list.count});
    }
    std::vector<std::vector<uint32_t>> dropped(3, {7, 7}); // what an earlier call left there does not matter
    policy_->select(layer, heads, dropped);
    REQUIRE(dropped.size() == heads.size());
    for (int head = 0; head < shape_.heads; ++head) {
        drop(lists_[static_cast<size_t>(layer * shape_.heads + head)], dropped[static_cast<size_t>(head)]);
    }
}

void PolicyStream::drop(List& list, const std::vector<uint32_t>& ranks)
{
    list.evicted.clear();
    List left;
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
    }
    REQUIRE(next == ranks.size()); // otherwise they do not ascend, repeat, or lie outside the list
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
