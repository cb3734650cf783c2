// A user's choices for a session: model, device, policy, budget, sampling; and the engine options they resolve to.
// Filled from a command line or by the window.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/model/config/model_config.h"
#include "engine/session/session_options.h"
#include "kernels/backend.h"
#include "kernels/base/text.h"
#include "storage/snapshot_form.h"

namespace palimpsest::storage {

// Stream lengths that are known before the session starts.
struct KnownLength {
    std::optional<uint64_t> input{};  // tokens of the document, for a budget that is a share
    std::optional<uint64_t> stream{}; // all tokens ever fed; allows original positions for positions "auto"
};

struct SessionChoice {
    std::string model; // empty: the default model
    std::string device = "auto";
    int32_t threads = 0;
    std::string simd;
    std::string compute = "auto"; // "f32": multiplies quantized weights in f32, not in fixed point
    std::string policy = "treekv";
    std::string budget; // "2048", "512MiB", "25%", "auto", "auto:" + one of these, "none"; empty: default
    int32_t chunk = engine::default_chunk;
    std::string positions = "auto";
    std::string kv_type = "auto";
    std::string snapshot = "exact"; // how checkpoints are stored, or "q8", "q4"
    std::string system;             // system prompt of a new session; empty: none
    std::vector<std::string> pins;  // token numbers or passages
    engine::SamplerOptions sampler;
    // Whether the user chose this setting explicitly; otherwise the value is a default, and a stored session's own
    // value takes precedence. Empty: nothing was chosen.
    std::function<bool(Setting)> is_given{};

    bool given(Setting setting) const { return is_given && is_given(setting); }
    kernels::BackendChoice backend() const; // throws Error (Usage)
    // Returns the policy; with budget "auto", its parameter budget=auto is set. Throws Error (Usage) like
    // session().
    engine::PolicySpec policy_spec() const;
    SnapshotForm snapshot_form() const; // throws Error (Usage)
    engine::SessionOptions session(const engine::ModelConfig& config, const KnownLength& length = {}) const;
    bool budget_is_auto() const { return budget == "auto" || budget.starts_with("auto:"); }
    bool budget_is_share() const { return budget.ends_with('%'); } // requires KnownLength::input
};

// Whether the policy chooses how many tokens it keeps, up to the budget (parameter budget=auto).
bool budget_is_auto(const engine::PolicySpec& policy);

std::string kv_type_name(kernels::DType type);             // as SessionChoice::kv_type
std::string compute_name(const kernels::Backend& backend); // as SessionChoice::compute

} // namespace palimpsest::storage
