#include "storage/session/session_checks.h"

#include "kernels/base/error.h"
#include "storage/models/model_finder.h"
#include "storage/models/model_listing.h"
#include "storage/session/list_lengths.h"
#include "storage/session/session_settings.h"

namespace palimpsest::storage {
namespace {

std::string subject_of(const SessionContext& context)
{
    return "session '" + printable(context.info.name) + "'";
}

[[noreturn]] void refuse_setting(const SessionContext& context, const std::string& option, const std::string& given,
                                 const std::string& has)
{
    throw Error(ErrorKind::Usage, "PAL-SESSION-06", subject_of(context),
                "it was begun with " + option + " " + printable(has) + ", and " + printable(given) +
                    " was given now",
                "leave " + option + " out, or read the document into another --session");
}

// Only the CPU has two ways to compute products, and only with VNNI.
void check_compute(const SessionContext& context)
{
    const kernels::Backend& backend = context.model->backend();
    if (backend.name() != "cpu") return;
    const std::string &now = context.options.choice.compute, began_with = SessionSettings(context.info).compute;
    const bool is_exact = backend.exact_products(), was_exact = began_with == "f32";
    if (was_exact && !is_exact) refuse_setting(context, "--compute", "auto", began_with);
    if (!was_exact && context.options.choice.given("compute") && now == "f32")
        refuse_setting(context, "--compute", now, began_with);
}

[[noreturn]] void refuse_budget(const SessionContext& context)
{
    const engine::SessionOptions& has = context.session->options();
    refuse_setting(context, "--budget", context.options.choice.budget,
                   (budget_is_auto(has.policy) ? "auto:" : "") + budget_text(has.budget));
}

// The options given now, and the session's own where none was given.
SessionChoice choice_now(const SessionContext& context)
{
    const engine::SessionOptions& has = context.session->options();
    SessionChoice choice = context.options.choice;
    choice.chunk = has.chunk;
    choice.kv_type = kv_type_name(*has.kv_type);
    const bool has_budget = choice.given("budget"), has_policy = choice.given("policy");
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
    if (!context.options.choice.given("model"))
        throw Error(ErrorKind::Failed, "PAL-SNAP-02", subject_of(context),
                    "its model file is another one than it was begun with (" + printable(info.model_name) + ")",
                    "its text is safe; give --model with the one it was begun with, or read its document into "
                    "another --session");
    const auto name = [](const std::string& model) { return is_ollama_blob(model) ? model_name(model) : model; };
    refuse_setting(context, "--model", name(context.options.choice.model), name(SessionSettings(info).model));
}

void check_cache_options(const SessionContext& context)
{
    const SessionChoice& given = context.options.choice;
    const engine::SessionOptions& has = context.session->options();
    const auto refuse_other = [&](const char* option, const std::string& now, const std::string& was) {
        if (given.given(option) && now != "auto" && now != was)
            refuse_setting(context, std::string("--") + option, now, was);
    };
    refuse_other("chunk", std::to_string(given.chunk), std::to_string(has.chunk));
    refuse_other("positions", given.positions, name_of(has.positions));
    refuse_other("kv-type", given.kv_type, kv_type_name(*has.kv_type));

    const engine::ModelConfig& config = context.model->config();
    const engine::SessionOptions now = choice_now(context).session(config);
    const bool is_default = now.budget == 0; // of the policy, or the cap of "auto"
    if (given.given("budget") &&
        (budget_is_auto(now.policy) != budget_is_auto(has.policy) || (!is_default && now.budget != has.budget)))
        refuse_budget(context);
    const SessionSettings begun(context.info);
    const std::string policy = now.policy.text();
    if (!given.given("policy") || policy == begun.policy_given || policy == begun.policy) return;
    engine::SessionOptions with_policy = has;
    with_policy.policy = now.policy;
    if (engine::policy_of(with_policy, config)->resolved() != has.policy) // the same policy may be spelled out
        refuse_setting(context, "--policy", policy, begun.policy_given);
}

void check_question(const SessionContext& context, const SessionFraming& framing)
{
    const std::optional<std::string>& given = context.options.question;
    if (!given || *given == framing.question()) return;
    const std::string was = framing.question().empty() ? "without a question in mind"
                                                       : "with '" + printable(framing.question()) + "' in mind";
    throw Error(ErrorKind::Usage, "PAL-SESSION-06", subject_of(context),
                "it is read " + was + ", and '" + printable(*given) + "' was given now",
                "leave the question out, or read the document into another --session");
}

void check_system(const SessionContext& context, const SessionFraming& framing)
{
    const std::string& now = context.options.choice.system;
    if (!context.options.choice.given("system") || now == framing.system()) return;
    const std::string was =
        framing.system().empty() ? "without a system prompt" : "with '" + printable(framing.system()) + "'";
    throw Error(ErrorKind::Usage, "PAL-SESSION-06", subject_of(context),
                "it was begun " + was + ", and --system '" + printable(now) + "' was given now",
                "leave --system out, or begin another --session");
}

} // namespace palimpsest::storage
