// The accumulator against its definition over the whole history (docs/policies-spec.md, Accumulation and
// forgetting).
#include <algorithm>
#include <map>
#include <random>

#include "engine/policy/policy.h"
#include "engine/policy/signals/accumulator.h"
#include "tests/support/catch.h"
#include "tests/support/reference_policy.h"

using namespace palimpsest::tests;
using palimpsest::engine::accumulate;
using palimpsest::engine::SignalNeeds;

namespace {

// Causal attention rows that sum to 1, for a chunk of `rows` rows at the end of a list of `entries`.
Attention random_attention(std::mt19937& random, int group, int rows, int entries)
{
    std::exponential_distribution<double> weight;
    Attention attention(static_cast<size_t>(group));
    for (auto& head : attention) {
        for (int r = 0; r < rows; ++r) {
            auto& row = head.emplace_back(static_cast<size_t>(entries), 0.0);
            const int visible = entries - rows + r + 1;
            double total = 0;
            for (int j = 0; j < visible; ++j)
                total += row[static_cast<size_t>(j)] = weight(random);
            for (double& a : row)
                a /= total;
        }
    }
    return attention;
}

// Sums over the last rows and all heads of the group, as a backend returns them.
std::vector<float> column_sums(const Attention& attention, int last_rows)
{
    const size_t entries = attention[0][0].size(), rows = attention[0].size();
    std::vector<float> columns(entries);
    for (size_t j = 0; j < entries; ++j) {
        double sum = 0;
        for (const auto& head : attention) {
            for (size_t r = rows - static_cast<size_t>(last_rows); r < rows; ++r)
                sum += head[r][j];
        }
        columns[j] = static_cast<float>(sum);
    }
    return columns;
}

// One entry's history: what each chunk added, and the factor that it multiplied the past with.
struct History {
    std::vector<double> added, rows, faded;

    double total(const std::vector<double>& values) const
    {
        double out = 0;
        for (size_t k = 0; k < values.size(); ++k) {
            double weight = 1;
            for (size_t later = k + 1; later < values.size(); ++later)
                weight *= faded[later];
            out += weight * values[k];
        }
        return out;
    }
};

struct Stream {
    int window, group;
    std::mt19937 random;
    std::vector<uint32_t> tokens = {};
    std::vector<double> sum = {}, count = {};
    std::map<uint32_t, History> history = {};
    uint32_t next = 0;

    void feed(int chunk)
    {
        for (int i = 0; i < chunk; ++i) {
            tokens.push_back(next++);
            sum.push_back(0);
            count.push_back(0);
        }
        const int n = static_cast<int>(tokens.size());
        const Attention attention = random_attention(random, group, chunk, n);
        const int rows = std::min(chunk, window);
        const double faded =
            window == SignalNeeds::all ? 1.0 : std::max(0.0, 1.0 - static_cast<double>(chunk) / window);
        for (int j = 0; j < n; ++j) {
            History& own = history[tokens[static_cast<size_t>(j)]];
            double added = 0, seen = 0;
            for (int r = chunk - rows; r < chunk; ++r) {
                if (j > n - chunk + r) continue;
                for (const auto& head : attention) {
                    added += head[static_cast<size_t>(r)][static_cast<size_t>(j)] / group;
                }
                seen += 1;
            }
            own.added.push_back(added);
            own.rows.push_back(seen);
            own.faded.push_back(faded);
        }
        accumulate(window, chunk, group, column_sums(attention, rows), sum, count);
    }

    void check() const
    {
        for (size_t j = 0; j < tokens.size(); ++j) {
            const History& own = history.at(tokens[j]);
            CHECK(sum[j] == Approx(own.total(own.added)).epsilon(1e-5).margin(1e-7));
            CHECK(count[j] == Approx(own.total(own.rows)).epsilon(1e-12));
            CHECK(count[j] >= 1);
        }
    }

    // Drops random entries together with their statistics.
    void drop_some()
    {
        for (size_t j = tokens.size(); j-- > 0;) {
            if (random() % 3 != 0) continue;
            const auto at = static_cast<std::ptrdiff_t>(j);
            tokens.erase(tokens.begin() + at);
            sum.erase(sum.begin() + at);
            count.erase(count.begin() + at);
        }
    }
};

} // namespace

TEST_CASE("accumulate: follows the definition for every window and chunk")
{
    for (const int window : {SignalNeeds::all, 1, 32}) {
        for (const int chunk : {1, 7, 64}) {
            for (const int group : {1, 3}) {
                CAPTURE(window, chunk, group);
                Stream stream{.window = window, .group = group, .random = std::mt19937(17)};
                for (int i = 0; i < 12; ++i) {
                    stream.feed(i == 11 ? std::max(1, chunk / 2) : chunk);
                    stream.check();
                    stream.drop_some();
                }
            }
        }
    }
}

TEST_CASE("accumulate: a chunk as long as the window forgets everything before it")
{
    std::vector<double> sum = {5, 0, 0}, count = {9, 0, 0};
    accumulate(2, 2, 1, std::vector<float>{0.25f, 0.5f, 0.75f}, sum, count);
    CHECK(sum == std::vector<double>{0.25, 0.5, 0.75});
    CHECK(count == std::vector<double>{2, 2, 1});
}

TEST_CASE("accumulate: the reference policy computes the same sums and counts")
{
    for (const std::string score : {"mean", "last"}) {
        ReferencePolicy reference(palimpsest::engine::PolicySpec::parse("treekv:score=" + score), {.budget = 1000});
        std::mt19937 random(23);
        std::vector<double> sum, count;
        for (const int chunk : {5, 1, 1, 12}) {
            reference.append(chunk);
            const int n = static_cast<int>(reference.list(0, 0).size());
            sum.resize(static_cast<size_t>(n));
            count.resize(static_cast<size_t>(n));
            const Attention attention = random_attention(random, 2, chunk, n);
            const int window = score == "last" ? 1 : SignalNeeds::all;
            reference.accumulate(0, 0, attention);
            accumulate(window, chunk, 2, column_sums(attention, std::min(chunk, window)), sum, count);
            for (size_t j = 0; j < sum.size(); ++j) {
                CHECK(sum[j] == Approx(reference.list(0, 0)[j].sum).epsilon(1e-6));
                CHECK(count[j] == reference.list(0, 0)[j].count);
            }
        }
    }
}
