// The options that most subcommands share (cli.md), their environment variables, and what they resolve to.
// An option beats its environment variable, which beats the configuration file, which beats the default.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/model/model_config.h"
#include "engine/session/session_options.h"
#include "kernels/backend.h"

namespace CLI {
class App;
class Option;
} // namespace CLI

namespace palimpsest::app {

// Whether the policy chooses how much it keeps, up to the budget (its key budget=auto).
bool budget_is_auto(const engine::PolicySpec& policy);

// What is known of the length of a stream before it is begun.
struct KnownLength {
    std::optional<uint64_t> input{};  // tokens of the document: of them a budget may be a share
    std::optional<uint64_t> stream{}; // all that will ever be fed: --positions auto may be a policy's original mode
};

struct CommonOptions {
    std::string model; // empty: the shipped one
    std::string device = "auto";
    int32_t threads = 0;
    std::string simd;
    std::string policy = "treekv";
    std::string budget; // "2048", "512MiB", "25%", "auto", "auto:" with one of these, "none"; empty: the default
    int32_t chunk = 512;
    std::string positions = "auto";
    std::string kv_type = "auto";
    std::vector<std::string> pins; // token numbers or passages
    engine::SamplerOptions sampler;
    int32_t max_tokens = 0; // 0: the command's own default
    std::vector<std::string> stop;
    bool json = false;
    bool events = false;
    bool require_complete = false;
    bool no_save = false;
    std::map<std::string, const CLI::Option*> defined; // by name, without the dashes

    // On the command line or in the environment; what config.json sets is a default.
    bool given(const std::string& option) const;
    kernels::BackendChoice backend() const { return {device, threads, simd}; }
    // With what --budget auto adds to the policy.
    engine::PolicySpec policy_spec() const;
    engine::SessionOptions session(const engine::ModelConfig& config, const KnownLength& length = {}) const;
    bool budget_is_auto() const { return budget == "auto" || budget.starts_with("auto:"); }
    bool budget_is_share() const { return budget.ends_with('%'); } // KnownLength::input is needed
};

void add_backend_options(CLI::App& command, CommonOptions& options); // model, device, threads, simd
void add_cache_options(CLI::App& command, CommonOptions& options);   // policy, budget, chunk, positions, kv-type
void add_sampling_options(CLI::App& command, CommonOptions& options);
void add_output_options(CLI::App& command, CommonOptions& options); // json, events, require-complete, no-save

std::string kv_type_name(kernels::DType type); // as --kv-type has it

// Where a common option's value comes from, for `doctor`: "environment (PALIMPSEST_MODEL)", "config.json",
// "default".
struct OptionOrigin {
    std::string option, value, origin;
};
std::vector<OptionOrigin> option_origins();
std::string config_path();
std::string data_folder();

// "A,B:key=value,key=value,C": a comma starts a new policy unless what follows is a key=value of the one before.
std::vector<std::string> split_policies(const std::string& list);
std::vector<std::string> split_list(const std::string& list);
// "1k,2k,500": counts with an optional k (1024) or M (1048576). Throws Error (Usage).
std::vector<uint64_t> parse_lengths(const std::string& option, const std::string& list);
uint64_t parse_length(const std::string& option, const std::string& text); // one of them

} // namespace palimpsest::app
