// How well a model predicts a text after another: -log p(text | context), by which passages are ranked for a
// question (Ponte, Croft 1998, "query likelihood").
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <stop_token>

#include "engine/model/model.h"

namespace palimpsest::engine {

// The sum of the losses of `tokens` after `context`, in nats, on a session of its own that keeps all tokens. Costs
// a prefill of both. Returns nullopt if stopped. Throws Error as Session does: Usage if they do not fit the model's
// context, Resources. REQUIRES: neither is empty.
std::optional<double> conditional_loss(const std::shared_ptr<const Model>& model, std::span<const TokenId> context,
                                       std::span<const TokenId> tokens, const std::stop_token& stop = {});

} // namespace palimpsest::engine
