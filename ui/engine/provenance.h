// What an answer rested on, in passages that a reader can look up.
#pragma once

#include <vector>

#include "engine/model/model_config.h"
#include "engine/session/attention_trace.h"
#include "engine/session/telemetry.h"
#include "ui/engine/session_facts.h"

namespace palimpsest::ui {

// The passages of documents that received most of the attention that documents received, the heaviest first; they
// do not overlap, and each lies in one of `documents`, which are in order and apart. The first tokens of the
// stream, which attention rests on whatever they say, do not count.
std::vector<Provenance::Source> heaviest_passages(const std::vector<engine::AttendedToken>& attended,
                                                  const std::vector<StreamRange>& documents);

// What tracing a turn of so many tokens takes, at most, with the state before it, which must be kept until then.
uint64_t trace_bytes(const engine::ModelConfig& model, const engine::Telemetry& session, uint64_t turn_tokens);

} // namespace palimpsest::ui
