// The options that a session was created with, as stored in the database.
#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "engine/session/session.h"
#include "engine/text/chat_template.h"
#include "kernels/base/text.h"
#include "storage/conversations.h"
#include "storage/snapshot_form.h"

namespace palimpsest::storage {

struct SessionSettings {
    std::string model;                // path
    std::string policy, policy_given; // resolved, and as requested: pins change the resolved one
    std::string positions, kv_type;
    std::string compute;                         // "auto" or "f32": a restored session keeps its product type
    SnapshotForm snapshot = SnapshotForm::Exact; // of the checkpoints to come
    int32_t budget = 0, chunk = 0;
    std::string system;         // system prompt; empty: none
    std::chrono::sys_days date; // day of creation, which the chat template prints as today's date
    std::string question;       // known while documents are read; empty: none

    // Throws Error (Failed, PAL-DB-03) if the options cannot be parsed.
    explicit SessionSettings(const SessionInfo& info);
    // Arguments of json(): options that SessionOptions does not contain, and whether to store the sampling options.
    struct Begun {
        const engine::PolicySpec& policy_given;
        const std::string& question;
        const engine::FramingOptions& framing;
        bool with_sampling; // for a chat
        SnapshotForm snapshot;
    };
    static std::string json(const engine::Session& session, const Begun& begun);
    std::string json_with(SnapshotForm form) const; // these options, with another form of checkpoints

    // The sampling options that the session was created with; those that are not stored, from `own`.
    engine::SamplerOptions sampling(const engine::SamplerOptions& own) const;

private:
    nlohmann::ordered_json all_;
};

// nullopt: they cannot be read.
std::optional<SessionSettings> readable_settings(const SessionInfo& info);

const char* name_of(engine::PositionMode positions);

// Calls `visit` with the setting, the name in JSON and both values of every sampling option.
template<class A, class B, class Visit>
void each_sampling_option(A& a, B& b, Visit&& visit)
{
    visit(Setting::Temperature, "temperature", a.temperature, b.temperature);
    visit(Setting::TopP, "top_p", a.top_p, b.top_p);
    visit(Setting::TopK, "top_k", a.top_k, b.top_k);
    visit(Setting::MinP, "min_p", a.min_p, b.min_p);
    visit(Setting::RepeatPenalty, "repeat_penalty", a.repeat_penalty, b.repeat_penalty);
    visit(Setting::Seed, "seed", a.seed, b.seed);
}

} // namespace palimpsest::storage
