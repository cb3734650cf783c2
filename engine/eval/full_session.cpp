#include "engine/eval/full_session.h"

#include <algorithm>

#include "engine/session/record_all_policy.h"

namespace palimpsest::engine {

SessionOptions full_options(const ModelConfig& model, SessionOptions options, size_t tokens)
{
    const auto room = static_cast<int32_t>(std::min<size_t>(tokens, INT32_MAX));
    options.policy = {"full", {}};
    options.budget = room;
    options.pins = Pins();
    options.question_room = 0;
    options.positions = PositionMode::Contiguous;
    options.chunk = std::min(options.chunk, model.context);
    options.reach = std::min<int64_t>(room, model.context);
    return options;
}

std::unique_ptr<Session> full_session(const std::shared_ptr<const Model>& model, const SessionOptions& options,
                                      size_t tokens, const SignalNeeds& needs)
{
    const ModelConfig& config = model->config();
    const SessionOptions full = full_options(config, options, tokens);
    const int64_t lists = int64_t{config.layers} * config.kv_heads;
    return std::make_unique<Session>(model, full, std::make_unique<RecordAllPolicy>(lists, full.budget, needs));
}

} // namespace palimpsest::engine
