// What the engine says of a policy with its budget and chunk, before anything is begun with it.
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
    Field field = Field::None; // where the trouble is
    QString parameter;         // its key
    QString sentence;          // what is wrong and what to do; empty: nothing

    std::optional<engine::SessionOptions> options; // as resolved; none without a model
    std::optional<uint64_t> cache_bytes;           // as will be allocated; none where the budget is not known yet
    std::optional<uint64_t> capacity;              // of a list that no budget cuts: the cache is a full one

    bool good() const { return sentence.isEmpty(); }
};

// What the wish resolves to. `input_tokens`: of the documents, which a budget may be a share of. Throws Error
// (Usage, Resources).
engine::SessionOptions session_options(const NewSession& wish, const engine::ModelConfig& model,
                                       std::optional<uint64_t> input_tokens);

// Without a model, only that the policy and its parameters are known. Where `input_tokens` is not known, a share is
// checked as one of the model's context, and has no price. Never throws.
PolicyCheck check_policy(const NewSession& wish, const engine::Model* model, std::optional<uint64_t> input_tokens);

// Without the parameters that say what would be so without them. REQUIRES: options that a session was made with.
engine::PolicySpec shortest_spec(const engine::SessionOptions& options, int32_t layers, int32_t kv_heads);

// An error of the engine in the words of a window: without the dashes of options, and without its code.
QString sentence_of(const Error& error);

} // namespace palimpsest::ui
