// Streams a document into a session (bytes, clean text, tokens, chunks) and reports the coverage.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/session/session.h"
#include "engine/text/document_encoder.h"
#include "kernels/base/text.h"
#include "storage/session/document.h"
#include "storage/session/reading_meter.h"

namespace palimpsest::storage {

// Reports how much of the input was read; nothing is truncated silently.
struct Coverage {
    uint64_t tokens_in_input = 0;
    uint64_t tokens_read = 0;
    uint64_t invalid_sequences = 0;                // invalid UTF-8, each replaced by U+FFFD
    uint64_t nul_characters = 0;                   // dropped
    std::vector<std::string> pages_without_text{}; // labels
    bool complete() const { return tokens_read == tokens_in_input; }
    nlohmann::ordered_json json() const;
    Text sentence() const;
};

// Throws Error (Failed, PAL-DOC-04) if `required` and the coverage is incomplete.
void check_complete(const Coverage& coverage, bool required, const std::string& subject);

// Takes a document block by block: the cleaned text of each, and the tokens that later text cannot change any more.
using EncodedSink = std::function<void(std::string_view clean, std::span<const engine::EncodedToken> tokens)>;

struct ReadOptions {
    bool first_text = true;                // no text was fed before
    uint64_t max_tokens_read = UINT64_MAX; // of the document; the rest is only counted
    uint64_t bytes_before = 0;             // of preceding documents, for the progress
    EncodedSink sink{};                    // called before a block is fed
    engine::FeedOptions feed;
    ReadingMeter* progress = nullptr;
};

// Holds only one block of text and one super-chunk of tokens. Throws Interrupted when stopped.
Coverage read_document(Document& document, const engine::Tokenizer& tokenizer, engine::Session& session,
                       const ReadOptions& options);

// Tells what could not be read as it should be.
void report_notes(const Document& document, Listener& listener);

// All token ids of the document (for a policy comparison, and to count).
std::vector<engine::TokenId> encode_document(Document& document, const engine::Tokenizer& tokenizer,
                                             bool first_text, Coverage& coverage);
void encode_document(Document& document, const engine::Tokenizer& tokenizer, bool first_text, Coverage& coverage,
                     const EncodedSink& sink);
// The number of its tokens, or any number of at least `enough`: no more of the document is read then.
uint64_t count_tokens_up_to(Document& document, const engine::Tokenizer& tokenizer, bool first_text,
                            uint64_t enough);

const engine::Tokenizer& require_tokenizer(const engine::Model& model);

} // namespace palimpsest::storage
