// The choices of a user for a session, in the words of the options (cli.md): model, device, policy, budget,
// sampling; and what these resolve to. A command line fills it, or a window.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/model/model_config.h"
#include "engine/session/session_options.h"
#include "kernels/backend.h"

namespace palimpsest::storage {

// The lengths of a stream that are known before it is begun.
struct KnownLength {
    std::optional<uint64_t> input{};  // tokens of the document: of them a budget may be a share
    std::optional<uint64_t> stream{}; // all that will ever be fed: --positions auto may be a policy's original mode
};

struct SessionChoice {
    std::string model; // empty: the shipped one
    std::string device = "auto";
    int32_t threads = 0;
    std::string simd;
    std::string compute = "auto"; // "f32": products with quantised weights in f32, not in fixed point
    std::string policy = "treekv";
    std::string budget; // "2048", "512MiB", "25%", "auto", "auto:" with one of these, "none"; empty: the default
    int32_t chunk = 512;
    std::string positions = "auto";
    std::string kv_type = "auto";
    std::string system;            // the system prompt of a session begun now; empty: none
    std::vector<std::string> pins; // token numbers or passages
    engine::SamplerOptions sampler;
    // Whether the user gave this option ("kv-type", "top-p") now; what was not given is a default, and a stored
    // session's own value comes before it. Empty: nothing was given.
    std::function<bool(const std::string& option)> is_given{};

    bool given(const std::string& option) const { return is_given && is_given(option); }
    kernels::BackendChoice backend() const; // throws Error (Usage)
    // With what --budget auto adds to the policy. Throws Error (Usage), as session() does.
    engine::PolicySpec policy_spec() const;
    engine::SessionOptions session(const engine::ModelConfig& config, const KnownLength& length = {}) const;
    bool budget_is_auto() const { return budget == "auto" || budget.starts_with("auto:"); }
    bool budget_is_share() const { return budget.ends_with('%'); } // KnownLength::input is needed
};

// Whether the policy chooses how much it keeps, up to the budget (its key budget=auto).
bool budget_is_auto(const engine::PolicySpec& policy);

std::string kv_type_name(kernels::DType type);             // as --kv-type has it
std::string compute_name(const kernels::Backend& backend); // as --compute has it

} // namespace palimpsest::storage
