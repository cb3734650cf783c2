// Options shared by most subcommands, with their environment variables. Precedence: option, environment variable,
// configuration file, default.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/base/text.h"
#include "storage/session/rereading.h"
#include "storage/session/session_choice.h"

namespace CLI {
class App;
class Option;
} // namespace CLI

namespace palimpsest::app {

// Session settings and output options. SessionChoice::is_given asks the subcommand whether an option was given on
// the command line or in the environment; a value from config.json counts as a default.
struct CommonOptions : storage::SessionChoice {
    int32_t max_tokens = 0; // 0: the default of the subcommand
    std::vector<std::string> stop;
    bool json = false;
    bool events = false;
    bool require_complete = false;
    bool no_save = false;
    std::string reread = "auto", answer_from = "auto";
    uint32_t reread_tokens = storage::RereadOptions::default_tokens;
    double rank_seconds = storage::RereadOptions::default_rank_seconds;

    storage::RereadOptions rereading() const;
};

void add_backend_options(CLI::App& command, CommonOptions& options); // model, device, threads, simd, compute
void add_cache_options(CLI::App& command, CommonOptions& options); // policy, budget, chunk, positions, kv-type, pin
void add_snapshot_option(CLI::App& command, CommonOptions& options); // how checkpoints are stored
// Throws Error (Usage) if --snapshot is given: nothing is saved. REQUIRES: options were parsed.
void refuse_snapshot_without_session(const CommonOptions& options);
void add_sampling_options(CLI::App& command, CommonOptions& options);
void add_reread_options(CLI::App& command, CommonOptions& options);
void add_answer_from_option(CLI::App& command, CommonOptions& options);
void add_rank_option(CLI::App& command, CommonOptions& options); // one of the reread options
void add_events_option(CLI::App& command, CommonOptions& options);
void add_output_options(CLI::App& command, CommonOptions& options); // json, events, require-complete, no-save

void add_system_option(CLI::App& command, CommonOptions& options);

void add_database_option(CLI::App& command, std::string& file); // --db, PALIMPSEST_DB
CLI::Option* add_session_option(CLI::App& command, std::string& name);

// Origin of an option's value, for `doctor`: "environment (PALIMPSEST_MODEL)", "config.json", "default".
struct OptionOrigin {
    std::string option;
    Text value, origin;
};
std::vector<OptionOrigin> option_origins();

// Splits "A,B:key=value,key=value,C" at commas, except before a key=value that continues the previous policy.
std::vector<std::string> split_policies(const std::string& list);
std::vector<std::string> split_list(const std::string& list);
// Parses "1k,2k,500": counts with an optional suffix k (1024) or M (1048576). Throws Error (Usage).
std::vector<uint64_t> parse_lengths(const std::string& option, const std::string& list);
uint64_t parse_length(const std::string& option, const std::string& text); // one count

} // namespace palimpsest::app
