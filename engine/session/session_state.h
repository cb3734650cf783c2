// An exact session state in memory: everything that continuing a session depends on. With the same model and
// arithmetic, a restored session continues bit for bit as the original would.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "engine/cache/token_list.h"
#include "engine/policy/policy_spec.h"
#include "engine/session/session_options.h"

namespace palimpsest::engine {

struct ListAtRest {
    TokenList tokens;
    std::vector<std::byte> keys, values; // [tokens, head_dim] in rank order, in the KV type
};

// The integrity check: the tokens that the model predicts when the last token is fed once more. A restored session
// must predict the same; with other arithmetic, nearly the same.
struct IntegrityCheck {
    std::vector<TokenId> ids; // at most 8, likeliest first; empty if there is no room for one more token
    std::vector<float> logits;
    bool operator==(const IntegrityCheck&) const = default;
};

struct SessionState {
    std::string model_fingerprint;
    std::string arithmetic; // name_of(Arithmetic): "AVX3", "sm_90", "AVX3 fixed-point"
    PolicySpec policy;      // resolved
    PolicySpec given;       // as requested
    std::vector<TokenRange> pins;
    std::vector<TokenId> question_ids; // Session::set_question_ids
    int32_t question_room = 0;
    int32_t budget = 0;
    int32_t chunk = 0;
    PositionMode positions = PositionMode::Contiguous;
    kernels::DType kv_type = kernels::DType::F16;

    uint64_t tokens_seen = 0;
    uint64_t steps_seen = 0; // chunks and decode steps
    uint64_t evicted = 0;
    TokenId last_token = -1;      // -1: nothing was fed yet
    std::vector<TokenId> pending; // fed, but their chunk is incomplete
    std::vector<float> logits;    // after the last token, [vocabulary]; empty if nothing was fed yet
    IntegrityCheck integrity_check;
    std::vector<std::byte> policy_state;
    SamplerOptions sampler_options;
    std::vector<std::byte> sampler_state;
    std::vector<ListAtRest> lists; // [layers * kv_heads]
};

SessionOptions options_of(const SessionState& state);

// Rounds rows of keys or values in place, [tokens, head_dim] in the KV type, to rows that can be stored in less
// space.
using RowRounding = std::function<void(std::span<std::byte> rows)>;

} // namespace palimpsest::engine
