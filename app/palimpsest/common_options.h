// The options that most subcommands share (cli.md), their environment variables, and what they resolve to.
// An option beats its environment variable, which beats the configuration file, which beats the default.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "storage/session/session_choice.h"

namespace CLI {
class App;
class Option;
} // namespace CLI

namespace palimpsest::app {

// The choices for a session, and how a command answers. The subcommand that the options are added to tells which of
// them were given, on the command line or in the environment; what config.json sets is a default.
struct CommonOptions : storage::SessionChoice {
    int32_t max_tokens = 0; // 0: the command's own default
    std::vector<std::string> stop;
    bool json = false;
    bool events = false;
    bool require_complete = false;
    bool no_save = false;
};

void add_backend_options(CLI::App& command, CommonOptions& options); // model, device, threads, simd, compute
void add_cache_options(CLI::App& command, CommonOptions& options);   // policy, budget, chunk, positions, kv-type
void add_sampling_options(CLI::App& command, CommonOptions& options);
void add_output_options(CLI::App& command, CommonOptions& options); // json, events, require-complete, no-save

void add_system_option(CLI::App& command, CommonOptions& options);

void add_database_option(CLI::App& command, std::string& file); // --db, PALIMPSEST_DB
CLI::Option* add_session_option(CLI::App& command, std::string& name);

// Where a common option's value comes from, for `doctor`: "environment (PALIMPSEST_MODEL)", "config.json",
// "default".
struct OptionOrigin {
    std::string option, value, origin;
};
std::vector<OptionOrigin> option_origins();

// "A,B:key=value,key=value,C": a comma starts a new policy unless what follows is a key=value of the one before.
std::vector<std::string> split_policies(const std::string& list);
std::vector<std::string> split_list(const std::string& list);
// "1k,2k,500": counts with an optional k (1024) or M (1048576). Throws Error (Usage).
std::vector<uint64_t> parse_lengths(const std::string& option, const std::string& list);
uint64_t parse_length(const std::string& option, const std::string& text); // one of them

} // namespace palimpsest::app
