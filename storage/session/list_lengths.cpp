#include "storage/session/list_lengths.h"

#include <algorithm>
#include <cstdio>
#include <numeric>

#include "kernels/base/byte_quantity.h"
#include "storage/session/session_choice.h"

namespace palimpsest::storage {
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
    lengths.least = lengths.greatest = map.of(0, 0).size();
    for (int32_t l = 0; l < map.layers; ++l) {
        uint64_t tokens = 0;
        for (int32_t h = 0; h < map.kv_heads; ++h) {
            const uint64_t length = map.of(l, h).size();
            tokens += length;
            lengths.least = std::min(lengths.least, length);
            lengths.greatest = std::max(lengths.greatest, length);
        }
        lengths.layers.push_back(static_cast<double>(tokens) / map.kv_heads);
    }
    return lengths;
}

double ListLengths::mean() const
{
    return std::accumulate(layers.begin(), layers.end(), 0.0) / static_cast<double>(layers.size());
}

int32_t budget_of(const engine::Session& session)
{
    const int32_t budget = session.options().budget;
    return budget == engine::no_budget ? session.policy().capacity() : budget;
}

int32_t capacity_of(const engine::Session& session)
{
    return session.policy().retrieval() ? session.policy().capacity() : budget_of(session);
}

std::string budget_text(int32_t budget)
{
    return budget == engine::no_budget ? "none" : std::to_string(budget);
}

LengthsReport LengthsReport::of(const engine::Session& session)
{
    const engine::SessionOptions& o = session.options();
    LengthsReport report{.mode = budget_is_auto(o.policy)        ? "auto"
                                 : o.budget == engine::no_budget ? "none"
                                                                 : "given",
                         .cap = capacity_of(session)};
    const engine::ModelConfig& model = session.model().config();
    for (int32_t l = 0; model.has_windows() && l < model.layers; ++l)
        report.limits.push_back(session.policy().list_budget(l, 0));
    return report;
}

nlohmann::ordered_json LengthsReport::json(const engine::RetentionMap& map) const
{
    nlohmann::ordered_json lengths = {{"mode", mode}, {"cap", cap}, {"layers", ListLengths::of(map).layers}};
    if (!limits.empty()) lengths["limits"] = limits;
    return lengths;
}

nlohmann::ordered_json lengths_json(const engine::Session& session)
{
    return LengthsReport::of(session).json(session.retention());
}

Text lengths_sentence(const engine::Session& session)
{
    const bool is_auto = budget_is_auto(session.options().policy);
    const ListLengths lengths = ListLengths::of(session.retention());
    if (lengths.even() && !is_auto) return {};
    const std::string least = format_count(lengths.least), greatest = format_count(lengths.greatest);
    const std::string mean = count(lengths.mean());
    if (!is_auto) return Text("{0} to {1} tokens per layer and head, {2} on average", least, greatest, mean);
    return Text("{0} to {1} tokens per layer and head, {2} on average; as many as attention needs, at most {3}",
                least, greatest, mean, format_count(static_cast<uint64_t>(budget_of(session))));
}

} // namespace palimpsest::storage
