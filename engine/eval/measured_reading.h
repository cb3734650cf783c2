// Measures the loss of a text's tokens, for `eval ppl` and `compare`.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "engine/session/session.h"

namespace palimpsest::engine {

// Makes a session to measure with. A retrieval policy reads only a part of its lists when it decodes, so it is
// measured one token at a time: its chunk is 1, whatever the options say.
std::unique_ptr<Session> session_to_measure(const std::shared_ptr<const Model>& model, SessionOptions options);
// Feeds all tokens and reports their losses: in chunks, or decoded one by one for a retrieval policy. Returns
// tokens per second; nullopt if stopped. Throws as Session::feed does. REQUIRES: nothing was fed before; `ids` is
// not empty.
std::optional<double> read_measured(Session& session, std::span<const TokenId> ids, const FeedOptions& options);

} // namespace palimpsest::engine
