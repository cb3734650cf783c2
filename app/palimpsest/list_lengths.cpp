#include "app/palimpsest/list_lengths.h"

#include <algorithm>
#include <cstdio>
#include <numeric>

#include "app/palimpsest/byte_quantity.h"
#include "app/palimpsest/common_options.h"

namespace palimpsest::app {
namespace {

std::string count(double tokens)
{
    if (tokens == static_cast<double>(static_cast<uint64_t>(tokens)))
        return format_count(static_cast<uint64_t>(tokens));
    char text[40];
    std::snprintf(text, sizeof text, "%.1f", tokens);
    return text;
}

} // namespace

ListLengths ListLengths::of(const engine::RetentionMap& map)
{
    ListLengths lengths;
    for (int32_t l = 0; l < map.layers; ++l) {
        size_t tokens = 0;
        for (int32_t h = 0; h < map.kv_heads; ++h) {
            tokens += map.of(l, h).size();
            lengths.even = lengths.even && map.of(l, h).size() == map.of(0, 0).size();
        }
        lengths.layers.push_back(static_cast<double>(tokens) / map.kv_heads);
    }
    return lengths;
}

double ListLengths::least() const
{
    return *std::min_element(layers.begin(), layers.end());
}

double ListLengths::mean() const
{
    return std::accumulate(layers.begin(), layers.end(), 0.0) / static_cast<double>(layers.size());
}

double ListLengths::greatest() const
{
    return *std::max_element(layers.begin(), layers.end());
}

int32_t budget_of(const engine::Session& session)
{
    const int32_t budget = session.options().budget;
    return budget == engine::no_budget ? session.policy().list_budget(0, 0) : budget;
}

nlohmann::ordered_json lengths_json(const engine::Session& session)
{
    const engine::SessionOptions& o = session.options();
    return {{"mode", budget_is_auto(o.policy)        ? "auto"
                     : o.budget == engine::no_budget ? "none"
                                                     : "given"},
            {"cap", budget_of(session)},
            {"layers", ListLengths::of(session.retention()).layers}};
}

std::string lengths_sentence(const engine::Session& session)
{
    const ListLengths lengths = ListLengths::of(session.retention());
    if (lengths.even && !budget_is_auto(session.options().policy)) return "";
    std::string sentence = count(lengths.least()) + " to " + count(lengths.greatest()) +
                           " tokens per layer and head, " + count(lengths.mean()) + " on average";
    if (budget_is_auto(session.options().policy))
        sentence +=
            "; as many as attention needs, at most " + format_count(static_cast<uint64_t>(budget_of(session)));
    return sentence;
}

} // namespace palimpsest::app
