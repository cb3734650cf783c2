// The sentences that a transcript says about messages and sources, for Markdown and HTML alike.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/base/text.h"
#include "storage/transcript/transcript.h"

namespace palimpsest::storage {

// Names and values about the session, in the order in which they are shown.
std::vector<std::pair<Text, Text>> session_words(const Transcript& transcript);

Text document_words(const TranscriptDocument& document); // `Title, by Author (EPUB, 1,200 tokens)`
Text role_words(Role role);
// Why a message is not to be taken as it is: "stopped", "replaced by a later one"; nullopt: it is complete.
std::optional<Text> state_words(const TranscriptMessage& message);
// How much was read when it was answered; nullopt: not known.
std::optional<Text> reading_words(const TranscriptMessage& message);
Text place_words(const TranscriptPlace& place);                      // `Title, Part › Chapter, pages 12–14`
Text source_words(const TranscriptSource& source);                   // the place, and the share of attention
std::optional<Text> unsupported_words(const TranscriptQuote& quote); // nullopt: all is supported

std::string utc_minute(int64_t milliseconds); // "2026-11-23 14:02 UTC"
std::string iso_time(int64_t milliseconds);   // "2026-11-23T14:02:05Z"

} // namespace palimpsest::storage
