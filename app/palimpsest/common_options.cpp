#include "app/palimpsest/common_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>

#include "app/palimpsest/wording.h"
#include "engine/session/session_options.h"
#include "kernels/base/error.h"
#include "kernels/base/printable.h"
#include "storage/models/config_file.h"
#include "storage/user_folders.h"

namespace palimpsest::app {
namespace {

using nlohmann::json;
using storage::config_path;

std::string environment(const char* name)
{
    const char* value = std::getenv(name);
    return value ? value : "";
}

// "kv-type" -> "PALIMPSEST_KV_TYPE"
std::string variable_of(const std::string& option)
{
    std::string name = "PALIMPSEST_";
    for (const char c : option)
        name += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return name;
}

const json& config()
{
    static const json loaded = storage::read_config();
    return loaded;
}

std::string text_of(const json& value)
{
    return value.is_string() ? value.get<std::string>() : value.dump();
}

CLI::Option* with_variable(CLI::Option* option, const std::string& variable)
{
    return option->description(option->get_description() + " [" + variable + "]")->envname(variable);
}

// Adds an option with its environment variable.
template<class T>
CLI::Option* add_without_config(CLI::App& command, CommonOptions& common, const std::string& name, T& value,
                                const std::string& meaning)
{
    CLI::Option* option = with_variable(command.add_option("--" + name, value, meaning), variable_of(name));
    common.is_given = [&command](Setting asked) {
        const CLI::Option* known = command.get_option_no_throw(CommandWording().setting(asked));
        return known && known->count() > 0;
    };
    return option;
}

// Adds an option with its environment variable and the value of config.json as its default.
template<class T>
void add(CLI::App& command, CommonOptions& common, const std::string& name, T& value, const std::string& meaning,
         const CLI::Validator& check = CLI::Validator())
{
    CLI::Option* option = add_without_config(command, common, name, value, meaning);
    option->check(check);
    const auto set = config().find(name);
    if (set == config().end()) return;
    try {
        option->default_val(text_of(*set));
    } catch (const CLI::ParseError&) {
        throw Error(ErrorKind::Usage, ErrorCode::InvalidConfiguration, Text::verbatim(config_path()),
                    Text("'{0}' cannot be '{1}'", name, printable(text_of(*set))), Text("correct it or remove it"));
    }
}

struct Described {
    const char* option;
    Text fallback;
};

[[noreturn]] void bad_value(Text option, const std::string& value, Text remedy)
{
    throw Error(ErrorKind::Usage, ErrorCode::ValueNotPossible, std::move(option),
                Text("'{0}' is not possible", printable(value)), std::move(remedy));
}

template<class T>
std::optional<T> parse_number(std::string_view text)
{
    T number{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return number;
}

} // namespace

void add_backend_options(CLI::App& command, CommonOptions& o)
{
    // config.json gives no default here: default_model() reads its "model" and takes a bare name from the list of
    // models even if a file has that name. The value of this option is tried as a path first.
    add_without_config(
        command, o, "model", o.model,
        "a .gguf file, a Hugging Face folder, or a name of 'models list'; absent: the default model");
    add(command, o, "device", o.device, "auto, cpu or cuda[:N] (see 'doctor'); auto: the CPU");
    add(command, o, "threads", o.threads, "CPU threads; 0: physical cores", CLI::Range(0, 1024));
    add(command, o, "simd", o.simd, "pin the SIMD target; last bits differ between targets");
    add(command, o, "compute", o.compute,
        "auto or f32: on the CPU, multiply all quantised weights in f32; auto: as fast as the CPU can, with "
        "activations of at least 16 bits",
        CLI::IsMember({"auto", "f32"}));
}

void add_cache_options(CLI::App& command, CommonOptions& o)
{
    add(command, o, "policy", o.policy, "NAME or NAME:key=value,... (see 'policies list')");
    add(command, o, "budget", o.budget,
        "tokens kept per layer and KV head, memory (512MiB), a share (25%); auto or auto:2048: as many as "
        "attention "
        "needs, up to that; none: as many as the model takes (full, refreekv)");
    add(command, o, "chunk", o.chunk, "tokens per prefill chunk", CLI::Range(1, 1 << 20));
    add(command, o, "positions", o.positions, "auto, contiguous or original");
    add(command, o, "kv-type", o.kv_type,
        "auto, f32, f16, bf16 or q8: 8 bits and a scale per 32 numbers, about half of f16");
    command
        .add_option("--pin", o.pins, "never evict these tokens (0-99,150) or this passage of the text (repeatable)")
        ->allow_extra_args(false);
}

void add_snapshot_option(CLI::App& command, CommonOptions& o)
{
    add(command, o, "snapshot", o.snapshot,
        "how the session's cache is saved from now on: exact, or rounded to q8 or q4, about half or a third of the "
        "size; a session that goes on from a rounded cache may answer otherwise",
        CLI::IsMember({"exact", "q8", "q4"}));
}

void refuse_snapshot_without_session(const CommonOptions& options)
{
    if (options.given(Setting::Snapshot))
        throw Error(ErrorKind::Usage, ErrorCode::InvalidArguments, Text(Setting::Snapshot),
                    Text("no session is saved here"), Text("leave it out, or give {0}", Setting::Session));
}

void add_sampling_options(CLI::App& command, CommonOptions& o)
{
    add(command, o, "seed", o.sampler.seed, "of the random numbers");
    add(command, o, "temperature", o.sampler.temperature, "0: always the likeliest token");
    add(command, o, "top-p", o.sampler.top_p, "keep the likeliest tokens that hold this probability");
    add(command, o, "top-k", o.sampler.top_k, "keep this many of the likeliest tokens; 0: all");
    add(command, o, "min-p", o.sampler.min_p, "keep tokens at least this likely, relative to the likeliest");
    add(command, o, "repeat-penalty", o.sampler.repeat_penalty, "weaken recent tokens; 1: off");
    add(command, o, "max-tokens", o.max_tokens, "longest answer", CLI::Range(1, 1 << 20));
    command.add_option("--stop", o.stop, "end the answer before this text (repeatable)")
        ->allow_extra_args(false) // the next word is a separate argument
        ->check([](const std::string& text) { return text.empty() ? std::string("it is empty") : std::string(); });
}

void add_reread_options(CLI::App& command, CommonOptions& o)
{
    add(command, o, "reread", o.reread,
        "read passages that a question is about again: auto: those that are not held well; always; never",
        CLI::IsMember({"auto", "always", "never"}));
    add(command, o, "reread-tokens", o.reread_tokens,
        "tokens of the passages that are looked at for a question, at most half of the budget",
        CLI::Range(uint32_t{1}, storage::RereadOptions::most_tokens));
    add_rank_option(command, o);
}

void add_answer_from_option(CLI::App& command, CommonOptions& o)
{
    add(command, o, "answer-from", o.answer_from,
        "session: what the cache holds, and what is read again; passages: only the sentences, of those found, that "
        "the question is most about; auto: passages if any is to be read again; of a chat only for questions, and "
        "not for those about the talk itself",
        CLI::IsMember({"auto", "session", "passages"}));
}

void add_rank_option(CLI::App& command, CommonOptions& o)
{
    add(command, o, "rank-seconds", o.rank_seconds,
        "how long the model may rank the passages that were found, by how likely each makes the question; 0: not",
        CLI::Range(0.0, 3600.0));
}

storage::RereadOptions CommonOptions::rereading() const
{
    return {.mode = *storage::reread_mode(reread),
            .tokens = reread_tokens,
            .rank_seconds = rank_seconds,
            .answer_from = *storage::answer_from(answer_from)};
}

void add_system_option(CLI::App& command, CommonOptions& o)
{
    add(command, o, "system", o.system, "the system prompt: how the model is to answer; a session keeps it");
}

void add_events_option(CLI::App& command, CommonOptions& o)
{
    command.add_flag("--events", o.events, "telemetry as JSON lines on standard error instead of a progress line");
}

void add_output_options(CLI::App& command, CommonOptions& o)
{
    command.add_flag("--json", o.json, "print one JSON document");
    add_events_option(command, o);
    command.add_flag("--require-complete", o.require_complete, "fail if not all of the input was read");
    command.add_flag("--no-save", o.no_save, "leave nothing behind");
}

void add_database_option(CLI::App& command, std::string& file)
{
    with_variable(command.add_option("--db", file, "the session database instead of the user's own"),
                  "PALIMPSEST_DB");
}

CLI::Option* add_session_option(CLI::App& command, std::string& name)
{
    return command.add_option("--session", name, "the session's name");
}

std::vector<OptionOrigin> option_origins()
{
    static_assert(engine::default_budget == 2048, "update the text of the budget");
    static_assert(storage::RereadOptions::default_tokens == 512, "update the text of reread-tokens");
    static const Described described[] = {{"model", Text("a model of the models folder, or the shipped one")},
                                          {"device", Text::verbatim("auto")},
                                          {"threads", Text("physical cores")},
                                          {"simd", Text("best found")},
                                          {"compute", Text::verbatim("auto")},
                                          {"policy", Text::verbatim("treekv")},
                                          {"budget", Text("min(2048, model context - chunk)")},
                                          {"chunk", Text::verbatim(std::to_string(engine::default_chunk))},
                                          {"positions", Text::verbatim("auto")},
                                          {"kv-type", Text::verbatim("auto")},
                                          {"snapshot", Text::verbatim("exact")},
                                          {"seed", Text::verbatim("0")},
                                          {"temperature", Text::verbatim("0")},
                                          {"top-p", Text::verbatim("1")},
                                          {"top-k", Text::verbatim("0")},
                                          {"min-p", Text::verbatim("0")},
                                          {"repeat-penalty", Text("1.1 to summarize, else 1")},
                                          {"max-tokens", Text("512 to summarize, 256 to ask")},
                                          {"reread", Text::verbatim("auto")},
                                          {"reread-tokens", Text::verbatim("512")},
                                          {"answer-from", Text::verbatim("auto")},
                                          {"rank-seconds", Text::verbatim("0")},
                                          {"system", Text("none but the model's own")}};
    std::vector<OptionOrigin> origins;
    for (const Described& d : described) {
        const std::string variable = variable_of(d.option);
        const auto set = config().find(d.option);
        if (const std::string value = environment(variable.c_str()); !value.empty())
            origins.push_back({d.option, Text::verbatim(value), Text("environment ({0})", variable)});
        else if (set != config().end())
            origins.push_back({d.option, Text::verbatim(text_of(*set)), Text::verbatim("config.json")});
        else
            origins.push_back({d.option, d.fallback, Text("default")});
    }
    return origins;
}

std::vector<std::string> split_list(const std::string& list)
{
    std::vector<std::string> parts;
    std::istringstream stream(list);
    for (std::string part; std::getline(stream, part, ',');)
        if (!part.empty()) parts.push_back(part);
    if (parts.empty()) bad_value(Text("list"), list, Text("give at least one, separated by commas"));
    return parts;
}

std::vector<std::string> split_policies(const std::string& list)
{
    std::vector<std::string> policies;
    for (const std::string& part : split_list(list)) {
        const size_t equals = part.find('=');
        const bool continues = equals != std::string::npos && part.find(':') > equals;
        if (continues && !policies.empty())
            policies.back() += "," + part;
        else
            policies.push_back(part);
    }
    return policies;
}

uint64_t parse_length(const std::string& option, const std::string& text)
{
    uint64_t unit = 1;
    if (text.ends_with('k')) unit = 1024;
    if (text.ends_with('M')) unit = 1024 * 1024;
    const auto number = parse_number<uint64_t>(std::string_view(text).substr(0, text.size() - (unit > 1)));
    if (!number || *number == 0 || *number > UINT32_MAX)
        bad_value(Text::verbatim(option), text, Text("give a count such as 500, 16k or 1M"));
    return *number * unit;
}

std::vector<uint64_t> parse_lengths(const std::string& option, const std::string& list)
{
    std::vector<uint64_t> lengths;
    for (const std::string& part : split_list(list))
        lengths.push_back(parse_length(option, part));
    return lengths;
}

} // namespace palimpsest::app
