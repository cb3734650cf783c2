#include "engine/session/session_remarks.h"

namespace palimpsest::engine {
namespace {

std::string local_layers_remark(const Session& session)
{
    const ModelConfig& model = session.model().config();
    int32_t local = 0, kept = 0;
    for (int32_t l = 0; l < model.layers; ++l) {
        if (session.policy().watches(l)) continue;
        ++local;
        kept = session.policy().list_budget(l, 0);
    }
    if (local == 0) return {};
    return std::to_string(local) + " of " + std::to_string(model.layers) +
           " layers see only a window: they keep the last " + std::to_string(kept) +
           " tokens, whatever the policy" + (session.pins().empty() ? "" : ", and pins do not hold there");
}

std::string window_beyond_budget_remark(const Session& session)
{
    const ModelConfig& model = session.model().config();
    int32_t layers = 0, window = 0;
    for (int32_t l = 0; l < model.layers; ++l) {
        if (model.plan(l).window == 0 || !session.policy().watches(l)) continue;
        ++layers;
        window = model.plan(l).window;
    }
    if (layers == 0) return {};
    return std::to_string(layers) + " of " + std::to_string(model.layers) + " layers see a window of " +
           std::to_string(window) + " tokens, more than the budget: the policy chooses there, too";
}

std::string rope_remark(const Session& session)
{
    const ModelConfig& model = session.model().config();
    if (model.rope.long_factors.empty()) return {};
    const int64_t reach = position_reach(model, session.options(), session.policy());
    const bool is_long = reach > model.original_context;
    return "positions stay below " + std::to_string(reach) + ": rotary angles are those for " +
           (is_long ? "more than " : "at most ") + std::to_string(model.original_context) + " positions";
}

} // namespace

std::vector<std::string> session_remarks(const Session& session)
{
    std::vector<std::string> remarks;
    for (std::string remark :
         {local_layers_remark(session), window_beyond_budget_remark(session), rope_remark(session)})
        if (!remark.empty()) remarks.push_back(std::move(remark));
    return remarks;
}

} // namespace palimpsest::engine
