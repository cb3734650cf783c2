#pragma once

#include <vector>

#include "engine/session/session.h"
#include "kernels/base/text.h"

namespace palimpsest::engine {

// Remarks, one sentence each, on how the model's own limits change the session's options: how much local layers
// keep, and which of two sets of rotary angles is used. Empty for most models.
std::vector<Text> session_remarks(const Session& session);

} // namespace palimpsest::engine
