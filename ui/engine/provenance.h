// What an answer rested on, in passages that a reader can look up.
#pragma once

#include <vector>

#include "engine/session/attention_trace.h"
#include "ui/engine/session_facts.h"

namespace palimpsest::ui {

// The passages of documents that received most of the attention that documents received, the heaviest first; they
// do not overlap. The first tokens of the stream, which attention rests on whatever they say, do not count.
std::vector<Provenance::Source> heaviest_passages(const std::vector<engine::AttendedToken>& attended,
                                                  const std::vector<StreamRange>& documents);

} // namespace palimpsest::ui
