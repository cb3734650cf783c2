// Compares the options given now with those that a stored session was begun with: its cache was computed with
// those, and with others its text would have to be read again.
#pragma once

#include "storage/session/session_context.h"
#include "storage/session/session_framing.h"

namespace palimpsest::storage {

// Throws Error: Failed (PAL-SNAP-02) for another model file, Usage (PAL-SESSION-06) for another model or
// compute setting.
void check_model(const SessionContext& context);
// Throws Error (Usage, PAL-SESSION-06) for an option of the cache or its policy that was given and differs.
// REQUIRES: context.session.
void check_cache_options(const SessionContext& context);
// Throws Error (Usage, PAL-SESSION-06) for another question or system prompt.
void check_question(const SessionContext& context, const SessionFraming& framing);
void check_system(const SessionContext& context, const SessionFraming& framing);

} // namespace palimpsest::storage
