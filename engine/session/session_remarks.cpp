#include "engine/session/session_remarks.h"

namespace palimpsest::engine {
namespace {

Text local_layers_remark(const Session& session)
{
    const ModelConfig& model = session.model().config();
    int32_t local = 0, kept = 0;
    for (int32_t l = 0; l < model.layers; ++l) {
        if (session.policy().watches(l)) continue;
        ++local;
        kept = session.policy().list_budget(l, 0);
    }
    if (local == 0) return {};
    if (session.pins().empty())
        return Text("{0} of {1} layers see only a window: they keep the last {2} tokens, whatever the policy",
                    local, model.layers, kept);
    return Text("{0} of {1} layers see only a window: they keep the last {2} tokens, whatever the policy, and pins "
                "do not hold there",
                local, model.layers, kept);
}

Text window_beyond_budget_remark(const Session& session)
{
    const ModelConfig& model = session.model().config();
    int32_t layers = 0, window = 0;
    for (int32_t l = 0; l < model.layers; ++l) {
        if (model.plan(l).window == 0 || !session.policy().watches(l)) continue;
        ++layers;
        window = model.plan(l).window;
    }
    if (layers == 0) return {};
    return Text("{0} of {1} layers see a window of {2} tokens, more than the budget: the policy chooses there, too",
                layers, model.layers, window);
}

Text rope_remark(const Session& session)
{
    const ModelConfig& model = session.model().config();
    if (model.rope.long_factors.empty()) return {};
    const int64_t reach = position_reach(model, session.options(), session.policy());
    if (reach > model.original_context)
        return Text("positions stay below {0}: rotary angles are those for more than {1} positions", reach,
                    model.original_context);
    return Text("positions stay below {0}: rotary angles are those for at most {1} positions", reach,
                model.original_context);
}

} // namespace

std::vector<Text> session_remarks(const Session& session)
{
    std::vector<Text> remarks;
    for (Text remark : {local_layers_remark(session), window_beyond_budget_remark(session), rope_remark(session)})
        if (!remark.empty()) remarks.push_back(std::move(remark));
    return remarks;
}

} // namespace palimpsest::engine
