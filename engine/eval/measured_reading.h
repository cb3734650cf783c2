// Reads a text for the loss of its tokens, as `eval ppl` and `compare` measure.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "engine/session/session.h"

namespace palimpsest::engine {

// A session to measure with. A policy that reads only a part of what it keeps does so for generated tokens only,
// and is measured one token at a time: its chunk is 1, whatever was chosen.
std::unique_ptr<Session> session_to_measure(const std::shared_ptr<const Model>& model, SessionOptions options);
// Feeds all of it and reports the losses: in chunks, or as if the policy above had generated it. Returns tokens per
// second; nothing if it was stopped. Throws as Session::feed does.
// REQUIRES: nothing was fed before; `ids` is not empty.
std::optional<double> read_measured(Session& session, std::span<const TokenId> ids, const FeedOptions& options);

} // namespace palimpsest::engine
