#include "ui/policy/policy_check.h"

#include <limits>

#include "engine/cache/device_lists.h"
#include "engine/cache/host_lists.h"
#include "engine/session/session_setup.h"
#include "kernels/base/error.h"
#include "kernels/counting_backend.h"
#include "storage/session/session_choice.h"
#include "ui/base/wording.h"

namespace palimpsest::ui {
namespace {

using Field = PolicyCheck::Field;

// Stands in for a missing model; so large that only settings that no model accepts are refused.
constexpr engine::PolicyContext any_model{.layers = 32, .kv_heads = 8, .budget = 1 << 16, .pins = {}, .chunk = 512};

bool is_share(const NewSession& request)
{
    return request.budget.trimmed().endsWith(QLatin1Char('%'));
}

uint64_t cache_bytes(const engine::Model& model, const engine::SessionSetup& setup)
{
    kernels::CountingBackend counting(model.backend());
    const engine::CacheShape shape = engine::cache_shape(model, setup.options, *setup.policy, 0);
    const engine::KvCache cache(shape, counting);
    return cache.allocated_bytes() + (shape.resident ? engine::DeviceLists(shape, counting).allocated_bytes()
                                                     : engine::HostLists(shape).allocated_bytes());
}

// Like check_policy, but throws Error if the settings are invalid.
PolicyCheck resolve(const NewSession& request, const engine::Model* model, std::optional<uint64_t> input_tokens)
{
    if (!model) {
        engine::make_policy(engine::PolicySpec::parse(request.policy.toStdString()), any_model);
        engine::ModelConfig any;
        any.layers = any_model.layers;
        any.kv_heads = any_model.kv_heads;
        any.heads = any_model.kv_heads;
        any.head_dim = 64;
        any.context = std::numeric_limits<int32_t>::max();
        session_options(request, any, input_tokens.value_or(1 << 20)); // throws if the budget is malformed
        return {};
    }
    const engine::ModelConfig& config = model->config();
    const bool priced = input_tokens || !is_share(request);
    const uint64_t length = input_tokens.value_or(static_cast<uint64_t>(config.context));
    const engine::SessionSetup setup =
        engine::set_up(session_options(request, config, length), config, model->backend().at_once());
    PolicyCheck check;
    check.options = setup.options;
    check.options->policy = setup.policy->resolved();
    if (priced) check.cache_bytes = cache_bytes(*model, setup);
    if (!setup.policy->bounded() || setup.options.budget == engine::no_budget)
        check.capacity = static_cast<uint64_t>(setup.policy->capacity());
    return check;
}

// Returns the parameter whose removal makes the settings valid; empty if there is none.
QString invalid_parameter(const NewSession& request, const engine::Model* model,
                          std::optional<uint64_t> input_tokens)
try {
    const auto spec = engine::PolicySpec::parse(request.policy.toStdString());
    for (const auto& [key, value] : spec.parameters) {
        engine::PolicySpec without = spec;
        without.parameters.erase(key);
        NewSession tried = request;
        tried.policy = QString::fromStdString(without.text());
        try {
            resolve(tried, model, input_tokens);
            return QString::fromStdString(key);
        } catch (const Error&) {
            continue;
        }
    }
    return {};
} catch (const Error&) {
    return {};
}

Field field_of(const Error& error)
{
    if (error.subject() == Text(Setting::Budget)) return Field::Budget;
    if (error.subject() == Text(Setting::Chunk)) return Field::Chunk;
    return Field::Policy;
}

} // namespace

engine::SessionOptions session_options(const NewSession& request, const engine::ModelConfig& model,
                                       std::optional<uint64_t> input_tokens)
{
    storage::SessionChoice choice;
    choice.policy = request.policy.trimmed().toStdString();
    choice.budget = request.budget.trimmed().toStdString();
    choice.chunk = request.chunk;
    return choice.session(model, {.input = input_tokens, .stream = {}});
}

PolicyCheck check_policy(const NewSession& request, const engine::Model* model,
                         std::optional<uint64_t> input_tokens)
try {
    return resolve(request, model, input_tokens);
} catch (const Error& error) {
    PolicyCheck check;
    check.sentence = field_sentence(error);
    check.field = field_of(error);
    if (check.field == Field::Policy) check.parameter = invalid_parameter(request, model, input_tokens);
    if (!check.parameter.isEmpty()) check.field = Field::Parameter;
    return check;
}

engine::PolicySpec shortest_spec(const engine::SessionOptions& options, int32_t layers, int32_t kv_heads)
{
    const engine::PolicyContext context{
        .layers = layers, .kv_heads = kv_heads, .budget = options.budget, .chunk = options.chunk};
    engine::PolicySpec shortest = options.policy;
    for (const auto& [key, value] : options.policy.parameters) {
        engine::PolicySpec without = shortest;
        without.parameters.erase(key);
        try {
            if (engine::make_policy(without, context)->resolved() == options.policy) shortest = without;
        } catch (const Error&) {
            continue; // another parameter requires this one
        }
    }
    return shortest;
}

QString field_sentence(const Error& error)
{
    return shown(Text("{0}: {1}", error.text(), error.remedy()));
}

} // namespace palimpsest::ui
