// Streams a document into a session: bytes, clean text, tokens, chunks; and says how much of it was read.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/palimpsest/common_options.h"
#include "app/palimpsest/document.h"
#include "app/palimpsest/progress.h"
#include "app/palimpsest/protocol.h"
#include "engine/session/session.h"
#include "engine/text/chat_template.h"

namespace palimpsest::app {

// What was in the input and what was read of it (architecture.md, contract 8).
struct Coverage {
    uint64_t tokens_in_input = 0;
    uint64_t tokens_read = 0;
    uint64_t invalid_sequences = 0; // bytes that were not UTF-8, each shown to the model as U+FFFD
    uint64_t nul_characters = 0;    // dropped
    bool complete() const { return tokens_read == tokens_in_input; }
    nlohmann::ordered_json json() const;
    std::string sentence() const;
};

// Where the pins lie in a stream of documents: `framing` tokens before each; `first_text` as in ReadOptions. Reads
// the documents once more if a passage is to be found. Throws Error: Usage (PAL-PIN-02; 04 for what can be read
// only once), NotFound (PAL-PIN-03).
engine::Pins pins_of(const std::vector<std::string>& wishes, const Documents& documents, bool first_text,
                     const std::vector<uint64_t>& framing, const engine::Model& model, Console& console);

// Throws Error (Failed, PAL-DOC-04) if `required` and not all was read.
void check_complete(const Coverage& coverage, bool required, const std::string& subject);

struct ReadOptions {
    bool first_text = true;            // nothing was fed that is text
    uint64_t most_tokens = UINT64_MAX; // of the document; the rest is counted, not read
    uint64_t bytes_before = 0;         // of the documents before this one, for the progress
    engine::FeedOptions feed;
    Progress* progress = nullptr;
};

// Streams; holds one block of text and one super-chunk of tokens. Throws Interrupted when stopped.
Coverage read_document(Document& document, const engine::Tokenizer& tokenizer, engine::Session& session,
                       const ReadOptions& options);

// The whole document's ids (for a policy comparison, and to count).
std::vector<engine::TokenId> encode_document(Document& document, const engine::Tokenizer& tokenizer,
                                             bool first_text, Coverage& coverage);
// The same block by block: clean text, and the tokens that are certain by then.
using EncodedSink = std::function<void(std::string_view clean, std::span<const engine::EncodedToken> tokens)>;
void encode_document(Document& document, const engine::Tokenizer& tokenizer, bool first_text, Coverage& coverage,
                     const EncodedSink& sink);

const engine::Tokenizer& require_tokenizer(const engine::Model& model);

// What every result says about how it came to be.
nlohmann::ordered_json memory_json(const engine::Telemetry& telemetry);
// `lost`: the device that failed before it went on on this one, or empty.
nlohmann::ordered_json backend_json(const engine::Model& model, const std::string& lost);
nlohmann::ordered_json model_json(const engine::Model& model);
nlohmann::ordered_json policy_json(const engine::Session& session); // with how long its lists are at present
nlohmann::ordered_json reach_json(const engine::RetentionMap& map);

// The same for people, on standard error: coverage, reach and memory; or one event, which says the protocol too.
void write_receipt(Console& console, bool events, const engine::Session& session, const Coverage& coverage,
                   Protocol protocol);
void write_note(Console& console, bool events, const std::string& text);

} // namespace palimpsest::app
