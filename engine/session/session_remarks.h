#pragma once

#include <string>
#include <vector>

#include "engine/session/session.h"

namespace palimpsest::engine {

// What a reader of results should know of how the model's own limits meet the session's options, a sentence each:
// what local layers keep, and which rotary angles of two sets are used. Nothing for most models.
std::vector<std::string> session_remarks(const Session& session);

} // namespace palimpsest::engine
