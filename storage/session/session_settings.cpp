#include "storage/session/session_settings.h"

#include <filesystem>

#include "kernels/base/error.h"
#include "kernels/base/printable.h"
#include "storage/session/session_choice.h"

namespace palimpsest::storage {
namespace {

using nlohmann::ordered_json;

constexpr const char* snapshot_key = "snapshot";
constexpr int64_t last_day = 2932896; // 31 December 9999, in days since 1970

void set_form(ordered_json& options, SnapshotForm form)
{
    options.erase(snapshot_key);
    if (form != SnapshotForm::Exact) options[snapshot_key] = name_of(form);
}

[[noreturn]] void unreadable(const std::string& session)
{
    throw Error(ErrorKind::Failed, ErrorCode::DamagedDatabase, Text("session '{0}'", printable(session)),
                Text("its settings cannot be read"),
                Text("its text is safe: {0}", Text(Step::ShowSession, printable(session))));
}

} // namespace

SessionSettings::SessionSettings(const SessionInfo& info)
try : all_(ordered_json::parse(info.options)) {
    model = all_.value("model", "");
    policy = all_.value("policy", "treekv");
    policy_given = all_.value("policy_given", policy);
    positions = all_.value("positions", "contiguous");
    kv_type = all_.value("kv_type", "auto");
    compute = all_.value("compute", "auto");
    budget = all_.value("budget", 0);
    chunk = all_.value("chunk", SessionChoice().chunk);
    question = all_.value("question", "");
    system = all_.value("system", "");
    const auto day = all_.value("day", int64_t{0});
    if (day < 0 || day > last_day) unreadable(info.name);
    date = std::chrono::sys_days(std::chrono::days(static_cast<int>(day)));
    const auto form = form_named(all_.value(snapshot_key, "exact"));
    if (!form) unreadable(info.name);
    snapshot = *form;
    sampling({});
} catch (const ordered_json::exception&) {
    unreadable(info.name);
}

std::optional<SessionSettings> readable_settings(const SessionInfo& info)
try {
    return SessionSettings(info);
} catch (const Error&) {
    return std::nullopt;
}

engine::SamplerOptions SessionSettings::sampling(const engine::SamplerOptions& own) const
{
    engine::SamplerOptions sampling = own;
    each_sampling_option(sampling, own, [&](Setting, const char* key, auto& value, const auto& fallback) {
        value = all_.value(key, fallback);
    });
    return sampling;
}

std::string SessionSettings::json(const engine::Session& session, const Begun& begun)
{
    const engine::SessionOptions& o = session.options();
    ordered_json options{{"model", std::filesystem::absolute(session.model().files().path).string()},
                         {"policy", o.policy.text()},
                         {"policy_given", begun.policy_given.text()},
                         {"budget", o.budget},
                         {"chunk", o.chunk},
                         {"positions", name_of(o.positions)},
                         {"kv_type", kv_type_name(*o.kv_type)}};
    const kernels::Backend& backend = session.model().backend();
    if (backend.name() == "cpu" && backend.exact_products()) options["compute"] = compute_name(backend);
    if (!begun.question.empty()) options["question"] = begun.question;
    if (!begun.framing.system.empty()) options["system"] = begun.framing.system;
    if (begun.framing.date != std::chrono::sys_days())                  // the epoch itself means: no date
        options["day"] = begun.framing.date.time_since_epoch().count(); // days since 1970
    if (begun.with_sampling)
        each_sampling_option(o.sampler, o.sampler, [&](Setting, const char* key, const auto& value, const auto&) {
            options[key] = value;
        });
    set_form(options, begun.snapshot);
    return options.dump();
}

std::string SessionSettings::json_with(SnapshotForm form) const
{
    ordered_json options = all_;
    set_form(options, form);
    return options.dump();
}

const char* name_of(engine::PositionMode positions)
{
    return positions == engine::PositionMode::Original ? "original" : "contiguous";
}

} // namespace palimpsest::storage
