// Where the last answer of a session comes from, as far as it is known without tracing its attention.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "storage/conversations.h"
#include "storage/provenance.h"
#include "storage/session/answer_support.h"
#include "storage/session/stored_session.h"

namespace palimpsest::storage {

struct StoredTurn {
    Message question, answer;
};

// The question and the answer that end the stream; absent if they are not stored, or not as they are now.
std::optional<StoredTurn> last_turn(StoredSession& session);

// A document, or a passage of one that the last question read again.
struct TextInStream {
    StreamRange range{};
    int64_t document = 0;
    bool read_again = false;
    uint64_t in_document = 0; // stream index of its first token in the document
};

// Ascending. REQUIRES: the stream ends with the question that read these passages again, and its answer.
std::vector<TextInStream> texts_in(const std::vector<StreamPart>& stream, const std::vector<ReadAgain>& read_again);

// Moves a source in what was read again to its place in the document.
void show_in_document(Provenance::Source& source, const std::vector<TextInStream>& texts);

// How much was read, the sentence that supports the answer, and the sources if it was written from them alone.
// REQUIRES: `turn` is the session's last.
Provenance provenance_of(StoredSession& session, const StoredTurn& turn, const AnswerSupport& support);

} // namespace palimpsest::storage
