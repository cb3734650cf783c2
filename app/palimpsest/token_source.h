// What `inspect`, `compare` and `eval ppl` measure: a document's tokens, or ids given with --token-ids.
#pragma once

#include <string>
#include <vector>

#include "app/palimpsest/console.h"
#include "storage/session/reading.h"

namespace CLI {
class App;
}

namespace palimpsest::app {

struct TokenSource {
    std::string file;      // empty with --token-ids
    std::string token_ids; // a file of ids; adds nothing of its own
    std::string name() const { return token_ids.empty() ? file : token_ids; }
};

struct SourceTokens {
    std::vector<engine::TokenId> ids; // BOS included, if the model has one and a document was given
    storage::Coverage coverage;       // counts the document's own tokens; tokens_read is the caller's
    uint64_t words = 0;               // of the document, by white space
    uint64_t added = 0;               // ids in front that are not the document's
};

// Adds FILE (positional, optional) and --token-ids to a command.
void add_token_source(CLI::App& command, TokenSource& source);
// Throws Error (Usage) unless exactly one of the two is given.
void check_token_source(const TokenSource& source);
// `most`: read no more than this many of the document's tokens; coverage still counts all.
SourceTokens read_source(const TokenSource& source, const engine::Model& model, uint64_t most, Console& console);

} // namespace palimpsest::app
