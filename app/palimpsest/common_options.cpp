#include "app/palimpsest/common_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "app/palimpsest/byte_quantity.h"
#include "engine/policy/registry.h"
#include "engine/session/session_setup.h"
#include "kernels/base/error.h"

namespace palimpsest::app {
namespace {

using nlohmann::json;

std::string environment(const char* name)
{
    const char* value = std::getenv(name);
    return value ? value : "";
}

std::string xdg(const char* variable, const char* below_home)
{
    const std::string set = environment(variable);
    return (set.empty() ? environment("HOME") + below_home : set) + "/palimpsest";
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
    static const json loaded = [] {
        std::ifstream file(config_path());
        if (!file) return json::object();
        json document = json::parse(file, nullptr, false, true);
        if (!document.is_object())
            throw Error(ErrorKind::Usage, "PAL-OPTION-04", config_path(), "it is not a JSON object",
                        "correct it or remove it");
        return document;
    }();
    return loaded;
}

std::string text_of(const json& value)
{
    return value.is_string() ? value.get<std::string>() : value.dump();
}

// An option with its environment variable; the configuration file's value becomes the default.
template<class T>
void add(CLI::App& command, CommonOptions& common, const std::string& name, T& value, const std::string& meaning,
         const CLI::Validator& check = CLI::Validator())
{
    const std::string variable = variable_of(name);
    CLI::Option* option = command.add_option("--" + name, value, meaning + " [" + variable + "]");
    option->envname(variable);
    common.defined[name] = option;
    option->check(check);
    const auto set = config().find(name);
    if (set == config().end()) return;
    try {
        option->default_val(text_of(*set));
    } catch (const CLI::ParseError&) {
        throw Error(ErrorKind::Usage, "PAL-OPTION-04", config_path(),
                    "'" + name + "' cannot be '" + printable(text_of(*set)) + "'", "correct it or remove it");
    }
}

struct Described {
    const char* option;
    const char* fallback;
};
constexpr Described described[] = {{"model", "the shipped model"},
                                   {"device", "auto"},
                                   {"threads", "physical cores"},
                                   {"simd", "best found"},
                                   {"policy", "treekv"},
                                   {"budget", "min(2048, model context - chunk)"},
                                   {"chunk", "512"},
                                   {"positions", "auto"},
                                   {"kv-type", "auto"},
                                   {"seed", "0"},
                                   {"temperature", "0"},
                                   {"top-p", "1"},
                                   {"top-k", "0"},
                                   {"min-p", "0"},
                                   {"repeat-penalty", "1"},
                                   {"max-tokens", "512 to summarize, 256 to ask"}};

[[noreturn]] void bad_value(const std::string& option, const std::string& value, const std::string& remedy)
{
    throw Error(ErrorKind::Usage, "PAL-OPTION-03", option, "'" + printable(value) + "' is not possible", remedy);
}

constexpr std::string_view q8 = "q8";

std::optional<kernels::DType> parse_kv_type(const std::string& text)
{
    if (text == "auto") return std::nullopt;
    if (text == "f32") return kernels::DType::F32;
    if (text == "f16") return kernels::DType::F16;
    if (text == "bf16") return kernels::DType::BF16;
    if (text == q8) return kernels::DType::Q8_0;
    bad_value("--kv-type", text, "use auto, f32, f16, bf16 or q8");
}

template<class T>
std::optional<T> parse_number(std::string_view text)
{
    T number{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return number;
}

// Largest c with layers * heads * (c + b) * 2 * head_dim * size <= bytes (architecture.md, Budget).
int32_t budget_for_memory(uint64_t bytes, const engine::ModelConfig& m, const engine::SessionOptions& options)
{
    const kernels::DType type = engine::kv_type_of(options, m);
    const auto slot = static_cast<uint64_t>(m.layers) * static_cast<uint64_t>(m.kv_heads) *
                      static_cast<uint64_t>(2 * kernels::row_bytes(type, m.head_dim));
    const auto slots = static_cast<int64_t>(bytes / slot) - options.chunk;
    if (slots < 1)
        throw Error(ErrorKind::Resources, "PAL-MEM-01", "--budget",
                    format_bytes(bytes) + " hold " + std::to_string(bytes / slot) +
                        " tokens of this model and a chunk alone takes " + std::to_string(options.chunk),
                    "give more memory or a smaller --chunk");
    return static_cast<int32_t>(std::min<int64_t>(slots, INT32_MAX));
}

// `text`: `given`, or what of it stands behind "auto:".
int32_t parse_budget(const std::string& given, const std::string& text, const engine::ModelConfig& model,
                     const engine::SessionOptions& options, const KnownLength& length)
{
    if (const auto tokens = parse_number<int32_t>(text); tokens && *tokens > 0) return *tokens;
    if (const auto bytes = parse_bytes(text)) return budget_for_memory(*bytes, model, options);
    if (text.ends_with('%') && length.input) {
        const auto percent = parse_number<double>(std::string_view(text).substr(0, text.size() - 1));
        if (percent && *percent > 0 && *percent <= 100)
            return std::max(1,
                            static_cast<int32_t>(std::floor(*percent / 100 * static_cast<double>(*length.input))));
    }
    if (text.ends_with('%') && !length.input)
        bad_value("--budget", given, "a share needs an input whose length is known: a file, not standard input");
    bad_value("--budget", given,
              "give tokens (2048), memory (512MiB), a share of the input (25%), auto, auto with the most of these "
              "(auto:2048), or none");
}

constexpr std::string_view budget_key = "budget", auto_value = "auto", auto_prefix = "auto:";

// A policy's own mode where nothing can go beyond what the model was trained on.
engine::PositionMode positions_that_fit(const engine::PolicySpec& policy, const engine::ModelConfig& model,
                                        const KnownLength& length)
{
    const bool fits = length.stream && *length.stream <= static_cast<uint64_t>(model.context);
    const engine::PolicyInfo* info = engine::find_policy(policy.name); // none: refused where it is made
    return fits && info && info->positions.starts_with("original") ? engine::PositionMode::Original
                                                                   : engine::PositionMode::Contiguous;
}

bool chooses_budget(const engine::PolicyInfo& info)
{
    return std::any_of(info.parameters.begin(), info.parameters.end(), [](const engine::ParameterInfo& p) {
        return p.key == budget_key && p.range.find(auto_value) != std::string::npos;
    });
}

} // namespace

std::string kv_type_name(kernels::DType type)
{
    return std::string(type == kernels::DType::Q8_0 ? q8 : kernels::info(type).name);
}

std::string config_path()
{
    return xdg("XDG_CONFIG_HOME", "/.config") + "/config.json";
}

std::string data_folder()
{
    return xdg("XDG_DATA_HOME", "/.local/share");
}

void add_backend_options(CLI::App& command, CommonOptions& o)
{
    add(command, o, "model", o.model, "a .gguf file, a Hugging Face folder, or a name in the models folder");
    add(command, o, "device", o.device, "auto, cpu or cuda[:N] (see 'doctor'); auto: the CPU");
    add(command, o, "threads", o.threads, "CPU threads; 0: physical cores", CLI::Range(0, 1024));
    add(command, o, "simd", o.simd, "pin the SIMD target; last bits differ between targets");
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
        ->allow_extra_args(false) // the next word is not a second one
        ->check([](const std::string& text) { return text.empty() ? std::string("it is empty") : std::string(); });
}

void add_output_options(CLI::App& command, CommonOptions& o)
{
    command.add_flag("--json", o.json, "print one JSON document");
    command.add_flag("--events", o.events, "telemetry as JSON lines on standard error instead of a progress line");
    command.add_flag("--require-complete", o.require_complete, "fail if not all of the input was read");
    command.add_flag("--no-save", o.no_save, "leave nothing behind");
}

bool CommonOptions::given(const std::string& option) const
{
    const auto found = defined.find(option);
    return found != defined.end() && found->second->count() > 0;
}

bool budget_is_auto(const engine::PolicySpec& policy)
{
    const auto given = policy.parameters.find(std::string(budget_key));
    return given != policy.parameters.end() && given->second == auto_value;
}

engine::PolicySpec CommonOptions::policy_spec() const
{
    engine::PolicySpec spec = engine::PolicySpec::parse(policy);
    if (!budget_is_auto()) return spec;
    const engine::PolicyInfo* info = engine::find_policy(spec.name); // none: refused where it is made
    if (info && !chooses_budget(*info))
        throw Error(ErrorKind::Usage, "PAL-OPTION-03", "--budget",
                    "a budget of '" + printable(budget) + "' needs a policy that chooses by attention, and " +
                        spec.name + " is none",
                    "use one such as snapkv, or give tokens (2048)");
    const auto [given, is_new] = spec.parameters.emplace(budget_key, auto_value);
    if (!is_new && given->second != auto_value)
        throw Error(ErrorKind::Usage, "PAL-OPTION-01", "--budget",
                    "'" + printable(budget) + "' and the policy's budget=" + printable(given->second) +
                        " exclude each other",
                    "leave out one of them");
    return spec;
}

engine::SessionOptions CommonOptions::session(const engine::ModelConfig& config, const KnownLength& length) const
{
    engine::SessionOptions result;
    result.policy = policy_spec();
    result.chunk = chunk;
    result.kv_type = parse_kv_type(kv_type);
    result.sampler = sampler;
    if (positions == "auto")
        result.positions = positions_that_fit(result.policy, config, length);
    else if (positions == "original")
        result.positions = engine::PositionMode::Original;
    else if (positions != "contiguous")
        bad_value("--positions", positions, "use auto, contiguous or original");
    if (budget == "none")
        result.budget = engine::no_budget;
    else if (!budget.empty() && budget != auto_value)
        result.budget = parse_budget(budget, budget_is_auto() ? budget.substr(auto_prefix.size()) : budget, config,
                                     result, length);
    return result;
}

std::vector<OptionOrigin> option_origins()
{
    std::vector<OptionOrigin> origins;
    for (const Described& d : described) {
        const std::string variable = variable_of(d.option);
        const auto set = config().find(d.option);
        if (const std::string value = environment(variable.c_str()); !value.empty())
            origins.push_back({d.option, value, "environment (" + variable + ")"});
        else if (set != config().end())
            origins.push_back({d.option, text_of(*set), "config.json"});
        else
            origins.push_back({d.option, d.fallback, "default"});
    }
    return origins;
}

std::vector<std::string> split_list(const std::string& list)
{
    std::vector<std::string> parts;
    std::istringstream stream(list);
    for (std::string part; std::getline(stream, part, ',');)
        if (!part.empty()) parts.push_back(part);
    if (parts.empty()) bad_value("list", list, "give at least one, separated by commas");
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
        bad_value(option, text, "give a count such as 500, 16k or 1M");
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
