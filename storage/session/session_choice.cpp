#include "storage/session/session_choice.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "engine/policy/named/registry.h"
#include "engine/session/cache_bytes.h"
#include "engine/session/session_setup.h"
#include "kernels/base/byte_quantity.h"
#include "kernels/base/error.h"
#include "kernels/base/printable.h"

namespace palimpsest::storage {
namespace {

[[noreturn]] void bad_value(Setting setting, const std::string& value, const Text& remedy)
{
    throw Error(ErrorKind::Usage, ErrorCode::ValueNotPossible, Text(setting),
                Text("'{0}' is not possible", printable(value)), remedy);
}

constexpr std::string_view q8 = "q8";

std::optional<kernels::DType> parse_kv_type(const std::string& text)
{
    if (text == "auto") return std::nullopt;
    if (text == "f32") return kernels::DType::F32;
    if (text == "f16") return kernels::DType::F16;
    if (text == "bf16") return kernels::DType::BF16;
    if (text == q8) return kernels::DType::Q8_0;
    bad_value(Setting::KvType, text, Text("choose auto, f32, f16, bf16 or q8"));
}

template<class T>
std::optional<T> parse_number(std::string_view text)
{
    T number{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return number;
}

// Returns the largest budget whose cache fits into `bytes`: in every layer min(window, budget) tokens plus one
// chunk. If all layers have a window, the budget is at most the model's context.
int32_t budget_for_memory(uint64_t bytes, const engine::ModelConfig& m, const engine::SessionOptions& options)
{
    if (options.chunk < 1)
        bad_value(Setting::Chunk, std::to_string(options.chunk), Text("give a number of tokens, at least 1"));
    const kernels::DType type = engine::kv_type_of(options, m, {}); // f16 and bf16 have the same size
    const uint64_t in_all_layers = static_cast<uint64_t>(m.layers) * engine::token_bytes(m, type);
    const uint64_t chunk = static_cast<uint64_t>(options.chunk) * in_all_layers;
    const auto fits = [&](int32_t budget) {
        return engine::cache_bytes(m, type, static_cast<uint64_t>(budget)) <= bytes - chunk;
    };
    if (bytes < chunk || !fits(1))
        throw Error(ErrorKind::Resources, ErrorCode::OutOfMemory, Text(Setting::Budget),
                    Text("{0} hold {1} tokens of this model and a chunk alone takes {2}", format_bytes(bytes),
                         bytes / in_all_layers, options.chunk),
                    Text("give more memory, or choose a smaller {0}", Setting::Chunk));
    int32_t good = 1;
    int64_t bad = engine::layers_without_window(m) > 0 ? int64_t{engine::no_budget} : int64_t{m.context} + 1;
    while (bad - good > 1) {
        const auto middle = static_cast<int32_t>(good + (bad - good) / 2);
        if (fits(middle))
            good = middle;
        else
            bad = middle;
    }
    return good;
}

// `text`: `given`, or the part after "auto:".
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
        bad_value(Setting::Budget, given,
                  Text("a share needs an input whose length is known: a file, not standard input"));
    bad_value(
        Setting::Budget, given,
        Text("give tokens (2048), memory (512MiB), a share of the input (25%), auto, auto with the most of these "
             "(auto:2048), or none"));
}

constexpr const char *auto_value = "auto", *exact = "f32";
constexpr std::string_view budget_key = "budget", auto_prefix = "auto:";

// Uses original positions if the policy prefers them and the stream fits into the context that the model was
// trained on; contiguous ones otherwise.
engine::PositionMode positions_that_fit(const engine::PolicySpec& policy, const engine::ModelConfig& model,
                                        const KnownLength& length)
{
    const bool fits = length.stream && *length.stream <= static_cast<uint64_t>(model.context);
    const engine::PolicyInfo* info = engine::find_policy(policy.name); // null: refused when the policy is created
    return fits && info && info->prefers_original ? engine::PositionMode::Original
                                                  : engine::PositionMode::Contiguous;
}

bool chooses_budget(const engine::PolicyInfo& info)
{
    return std::any_of(info.parameters.begin(), info.parameters.end(), [](const engine::ParameterInfo& p) {
        return p.key == budget_key && std::ranges::find(p.choices, auto_value) != p.choices.end();
    });
}

} // namespace

SnapshotForm SessionChoice::snapshot_form() const
{
    const auto form = form_named(snapshot);
    if (!form) bad_value(Setting::Snapshot, snapshot, Text("choose exact, q8 or q4"));
    return *form;
}

std::string kv_type_name(kernels::DType type)
{
    return std::string(type == kernels::DType::Q8_0 ? q8 : kernels::info(type).name);
}

std::string compute_name(const kernels::Backend& backend)
{
    return backend.exact_products() ? exact : auto_value;
}

kernels::BackendChoice SessionChoice::backend() const
{
    if (compute != auto_value && compute != exact) bad_value(Setting::Compute, compute, Text("choose auto or f32"));
    return {.device = device, .threads = threads, .simd = simd, .exact_products = compute == exact};
}

bool budget_is_auto(const engine::PolicySpec& policy)
{
    const auto given = policy.parameters.find(std::string(budget_key));
    return given != policy.parameters.end() && given->second == auto_value;
}

engine::PolicySpec SessionChoice::policy_spec() const
{
    engine::PolicySpec spec = engine::PolicySpec::parse(policy);
    if (!budget_is_auto()) return spec;
    const engine::PolicyInfo* info = engine::find_policy(spec.name); // null: refused when the policy is created
    if (info && !chooses_budget(*info))
        throw Error(ErrorKind::Usage, ErrorCode::ValueNotPossible, Text(Setting::Budget),
                    Text("a budget of '{0}' needs a policy that chooses by attention, and {1} is none",
                         printable(budget), spec.name),
                    Text("choose one such as snapkv, or give tokens (2048)"));
    const auto [given, is_new] = spec.parameters.emplace(budget_key, auto_value);
    if (!is_new && given->second != auto_value)
        throw Error(ErrorKind::Usage, ErrorCode::InvalidArguments, Text(Setting::Budget),
                    Text("'{0}' and the policy's budget={1} exclude each other", printable(budget),
                         printable(given->second)),
                    Text("leave out one of them"));
    return spec;
}

engine::SessionOptions SessionChoice::session(const engine::ModelConfig& config, const KnownLength& length) const
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
        bad_value(Setting::Positions, positions, Text("choose auto, contiguous or original"));
    if (budget == "none")
        result.budget = engine::no_budget;
    else if (!budget.empty() && budget != auto_value)
        result.budget = parse_budget(budget, budget_is_auto() ? budget.substr(auto_prefix.size()) : budget, config,
                                     result, length);
    return result;
}

} // namespace palimpsest::storage
