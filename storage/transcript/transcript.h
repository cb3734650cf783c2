// The messages of a session, with the sources of its answers, to be read without the program.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "storage/conversations.h"
#include "storage/provenance.h"
#include "storage/session/store.h"
#include "storage/transcript/stream_documents.h"

namespace palimpsest::storage {

struct TranscriptSource {
    TranscriptPlace place{};
    double weight = 0; // share of the answer's attention to documents
    bool read_again = false;
};

struct TranscriptQuote {
    std::string text{}; // verbatim
    TranscriptPlace place{};
    std::vector<std::string> unsupported{}; // names and numbers of the answer that no passage has which was found
};

struct TranscriptMessage {
    Role role = Role::User;
    MessageState state = MessageState::Complete;
    bool is_damaged = false;
    bool is_replaced = false; // a later message took its place in the stream
    int64_t created_ms = 0;   // since 1970, UTC
    std::string text{};
    uint64_t tokens_in_input = 0, tokens_read = 0; // of documents, when it was answered; 0: not known
    int32_t budget = 0;                            // likewise
    std::vector<TranscriptSource> sources{};       // heaviest first
    std::optional<TranscriptQuote> quote{};
};

// All texts are as they are stored: they come from documents and models, and may hold anything.
struct Transcript {
    std::string name{}, model{};
    std::string policy{};             // with its parameters; empty: the settings cannot be read
    std::string budget{};             // tokens, or "none"
    std::string question{}, system{}; // known while the documents were read; the system prompt; empty: none
    int64_t created_ms = 0, changed_ms = 0;
    std::vector<TranscriptDocument> documents{};
    std::vector<TranscriptMessage> messages{}; // an answer comes after its question

    // Throws Error as the database does. Cost: reads all messages, and the sections and pages of the documents.
    static Transcript of(Store& store, const SessionInfo& session);
};

} // namespace palimpsest::storage
