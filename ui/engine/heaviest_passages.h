// Determines the sources of an answer: the passages that received the most attention.
#pragma once

#include <vector>

#include "engine/model/config/model_config.h"
#include "engine/session/attention_trace.h"
#include "engine/session/telemetry.h"
#include "ui/engine/session_facts.h"

namespace palimpsest::ui {

// Returns the passages with the most attention, heaviest first. They do not overlap, and each is within one of
// `documents`, which must be sorted and disjoint. Attention to the first tokens of the stream (attention sinks) is
// ignored.
std::vector<Provenance::Source> heaviest_passages(const std::vector<engine::AttendedToken>& attended,
                                                  const std::vector<StreamRange>& documents);

// Upper bound of the memory for tracing a turn of `turn_tokens` tokens, including the session state before the
// turn.
uint64_t trace_bytes(const engine::ModelConfig& model, const engine::Telemetry& session, uint64_t turn_tokens);

} // namespace palimpsest::ui
