// The choices that a session was begun with, as they are stored with it.
#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "engine/session/session.h"
#include "engine/text/chat_template.h"
#include "storage/conversations.h"

namespace palimpsest::storage {

struct SessionSettings {
    std::string model;                // path
    std::string policy, policy_given; // resolved, and as it was asked for: pins change what it resolves to
    std::string positions, kv_type;
    std::string compute; // "auto", or "f32": a state goes on with the products it was computed with
    int32_t budget = 0, chunk = 0;
    std::string system;         // the system prompt; empty: none
    std::chrono::sys_days date; // that the model's chat template prints as today's: when the session was begun
    std::string question;       // that its documents are read with in mind; empty: none

    // Throws Error (Failed, PAL-DB-03) if they cannot be read.
    explicit SessionSettings(const SessionInfo& info);
    // The stored choices that the engine's options do not hold.
    struct Begun {
        const engine::PolicySpec& policy_given;
        const std::string& question;
        const engine::FramingOptions& framing;
        bool with_sampling; // of a session that is a chat
    };
    static std::string json(const engine::Session& session, const Begun& begun);

    // The sampling options of the chat that began the session, or `own`.
    engine::SamplerOptions sampling(const engine::SamplerOptions& own) const;

private:
    nlohmann::ordered_json all_;
};

const char* name_of(engine::PositionMode positions);

// Calls visit with the name and both values of every sampling option.
template<class A, class B, class Visit>
void each_sampling_option(A& a, B& b, Visit&& visit)
{
    visit("temperature", a.temperature, b.temperature);
    visit("top_p", a.top_p, b.top_p);
    visit("top_k", a.top_k, b.top_k);
    visit("min_p", a.min_p, b.min_p);
    visit("repeat_penalty", a.repeat_penalty, b.repeat_penalty);
    visit("seed", a.seed, b.seed);
}

} // namespace palimpsest::storage
