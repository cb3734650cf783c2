// Checks a policy, budget and chunk with the engine before a session starts.
#pragma once

#include <QString>
#include <optional>
#include <vector>

#include "engine/model/model.h"
#include "engine/session/session_options.h"
#include "ui/engine/engine_thread.h"

namespace palimpsest::ui {

struct PolicyCheck {
    enum class Field { None, Policy, Parameter, Budget, Chunk };
    Field field = Field::None; // the field that caused the error
    QString parameter;         // key of the parameter that caused it
    QString sentence;          // error and remedy; empty if the settings are valid

    std::optional<engine::SessionOptions> options; // resolved; none without a model
    std::optional<uint64_t> cache_bytes; // of the cache; none if the budget is a share of an unknown length
    std::optional<uint64_t> capacity;    // tokens of one list, if no budget limits it (a full cache)

    bool good() const { return sentence.isEmpty(); }
};

// Resolves settings for a model; throws Error (Usage, Resources). `input_tokens`: the length of which the budget
// may be a share.
engine::SessionOptions session_options(const NewSession& request, const engine::ModelConfig& model,
                                       std::optional<uint64_t> input_tokens);

// Without a model, checks only that the policy, its parameters and the budget are well-formed. Without
// `input_tokens`, a share is checked against the model's context length, and cache_bytes is none. Never throws.
PolicyCheck check_policy(const NewSession& request, const engine::Model* model,
                         std::optional<uint64_t> input_tokens);

// Returns the policy without parameters that equal their defaults. REQUIRES: options resolved by a session.
engine::PolicySpec shortest_spec(const engine::SessionOptions& options, int32_t layers, int32_t kv_heads);

// Returns the sentence that is shown beside the field that the error is about: without subject and code.
QString field_sentence(const Error& error);

} // namespace palimpsest::ui
