#include "storage/session/session_checks.h"

#include "kernels/base/error.h"
#include "kernels/base/printable.h"
#include "storage/models/model_finder.h"
#include "storage/models/model_listing.h"
#include "storage/session/list_lengths.h"
#include "storage/session/session_settings.h"

namespace palimpsest::storage {
namespace {

[[noreturn]] void refuse_setting(const SessionContext& context, Setting setting, const std::string& given,
                                 const std::string& has)
{
    throw Error(ErrorKind::Usage, ErrorCode::SettingsDiffer, context.subject(),
                Text("it was begun with {0} {1}, and {2} was given now", setting, printable(has), printable(given)),
                Text("leave {0} out, or read the document into another {1}", setting, Setting::Session));
}

// Only the CPU has two ways to compute products, and only with VNNI.
void check_compute(const SessionContext& context)
{
    const kernels::Backend& backend = context.model->backend();
    if (backend.name() != "cpu") return;
    const std::string &now = context.options.choice.compute, began_with = SessionSettings(context.info).compute;
    const bool is_exact = backend.exact_products(), was_exact = began_with == "f32";
    if (was_exact && !is_exact) refuse_setting(context, Setting::Compute, "auto", began_with);
    if (!was_exact && context.options.choice.given(Setting::Compute) && now == "f32")
        refuse_setting(context, Setting::Compute, now, began_with);
}

[[noreturn]] void refuse_budget(const SessionContext& context)
{
    const engine::SessionOptions& has = context.session->options();
    refuse_setting(context, Setting::Budget, context.options.choice.budget,
                   (budget_is_auto(has.policy) ? "auto:" : "") + budget_text(has.budget));
}

// The options given now, and the session's own where none was given.
SessionChoice choice_now(const SessionContext& context)
{
    const engine::SessionOptions& has = context.session->options();
    SessionChoice choice = context.options.choice;
    choice.chunk = has.chunk;
    choice.kv_type = kv_type_name(*has.kv_type);
    const bool has_budget = choice.given(Setting::Budget), has_policy = choice.given(Setting::Policy);
    if (!has_budget) choice.budget = budget_text(has.budget);
    if (!has_policy) choice.policy = has.policy.text();
    if (has_budget && !has_policy && choice.budget_is_auto() != budget_is_auto(has.policy)) refuse_budget(context);
    return choice;
}

} // namespace

void check_model(const SessionContext& context)
{
    check_compute(context);
    const SessionInfo& info = context.info;
    if (context.model->fingerprint() == info.model) return;
    if (!context.options.choice.given(Setting::Model))
        throw Error(
            ErrorKind::Failed, ErrorCode::IncompatibleSnapshot, context.subject(),
            Text("its model file is another one than it was begun with ({0})", printable(info.model_name)),
            Text("its text is safe; set {0} to the one it was begun with, or read its document into another {1}",
                 Setting::Model, Setting::Session));
    const auto name = [](const std::string& model) { return is_ollama_blob(model) ? model_name(model) : model; };
    refuse_setting(context, Setting::Model, name(context.options.choice.model), name(SessionSettings(info).model));
}

void check_cache_options(const SessionContext& context)
{
    const SessionChoice& given = context.options.choice;
    const engine::SessionOptions& has = context.session->options();
    const auto refuse_other = [&](Setting setting, const std::string& now, const std::string& was) {
        if (given.given(setting) && now != "auto" && now != was) refuse_setting(context, setting, now, was);
    };
    refuse_other(Setting::Chunk, std::to_string(given.chunk), std::to_string(has.chunk));
    refuse_other(Setting::Positions, given.positions, name_of(has.positions));
    refuse_other(Setting::KvType, given.kv_type, kv_type_name(*has.kv_type));

    const engine::ModelConfig& config = context.model->config();
    const engine::SessionOptions now = choice_now(context).session(config);
    const bool is_default = now.budget == 0; // the policy's own, or the cap of "auto"
    if (given.given(Setting::Budget) &&
        (budget_is_auto(now.policy) != budget_is_auto(has.policy) || (!is_default && now.budget != has.budget)))
        refuse_budget(context);
    const SessionSettings begun(context.info);
    const std::string policy = now.policy.text();
    if (!given.given(Setting::Policy) || policy == begun.policy_given || policy == begun.policy) return;
    engine::SessionOptions with_policy = has;
    with_policy.policy = now.policy;
    // Compares resolved policies, because a default may be given explicitly.
    if (engine::policy_of(with_policy, config)->resolved() != has.policy)
        refuse_setting(context, Setting::Policy, policy, begun.policy_given);
}

void check_question(const SessionContext& context, const SessionFraming& framing)
{
    const std::optional<std::string>& given = context.options.question;
    if (!given || *given == framing.question()) return;
    const std::string now = printable(*given), was = printable(framing.question());
    throw Error(ErrorKind::Usage, ErrorCode::SettingsDiffer, context.subject(),
                was.empty() ? Text("it is read without a question in mind, and '{0}' was given now", now)
                            : Text("it is read with '{0}' in mind, and '{1}' was given now", was, now),
                Text("leave {0} out, or read the document into another {1}", context.options.question_option,
                     Setting::Session));
}

void check_system(const SessionContext& context, const SessionFraming& framing)
{
    const std::string& now = context.options.choice.system;
    if (!context.options.choice.given(Setting::System) || now == framing.system()) return;
    const std::string given = printable(now), was = printable(framing.system());
    throw Error(
        ErrorKind::Usage, ErrorCode::SettingsDiffer, context.subject(),
        was.empty()
            ? Text("it was begun without a system prompt, and {0} '{1}' was given now", Setting::System, given)
            : Text("it was begun with '{0}', and {1} '{2}' was given now", was, Setting::System, given),
        Text("leave {0} out, or begin another {1}", Setting::System, Setting::Session));
}

} // namespace palimpsest::storage
