// Input of `inspect`, `compare` and `eval ppl`: a document, or token ids given with --token-ids.
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
    std::string file;      // empty if token_ids is set
    std::string token_ids; // file of token ids, which are used unchanged
    std::string name() const { return token_ids.empty() ? file : token_ids; }
};

struct SourceTokens {
    std::vector<engine::TokenId> ids; // includes BOS if a document was given and the tokenizer adds it
    storage::Coverage coverage;       // of the document's tokens; the caller sets tokens_read
    uint64_t words = 0;               // of the document, separated by white space
    uint64_t added = 0;               // number of ids before those of the document
};

// Adds the optional positional FILE and --token-ids to a command.
void add_token_source(CLI::App& command, TokenSource& source);
// Throws Error (Usage) unless exactly one of FILE and --token-ids is given.
void check_token_source(const TokenSource& source);
// `most`: maximum number of the document's tokens to return; coverage counts all of them. `events`: notes are
// events.
SourceTokens read_source(const TokenSource& source, const engine::Model& model, uint64_t most, Console& console,
                         bool events);

// --first of a measurement: how many tokens of each document it reads at most.
void add_first_option(CLI::App& command, std::string& first);
// The number of tokens; UINT64_MAX without the option. Throws Error (Usage) if it is none.
uint64_t most_tokens(const std::string& first);

} // namespace palimpsest::app
