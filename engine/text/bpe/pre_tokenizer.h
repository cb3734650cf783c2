// Pre-tokenizers split the text of a byte-level vocabulary into pre-tokens, each of which is merged separately.
//
// All expressions are compiled in; none is read from a file. They are written as published in tokenizer.json files,
// and run in PCRE2 with just-in-time compilation. \s is the Unicode property White_Space, as in the tokenizers
// library (PCRE2's own \s also matches U+180E).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace palimpsest::engine {

// The steps of a pre-tokenizer in tokenizer.json, for comparison with the known ones. Each step is the expression
// of a Split, in ASCII (other characters as \x{HEX}), or "#digits", "#digits individual", "#bytes" (GPT-2's
// expression), "#metaspace".
using PreTokenizerSteps = std::vector<std::string>;

// The name of the known pre-tokenizer with these steps; empty if unknown.
std::string_view pre_tokenizer_with(const PreTokenizerSteps& steps);

// The pre-tokenizer for a GGUF's tokenizer.ggml.pre. Accepts the same aliases as llama.cpp.
struct GgufPreTokenizer {
    std::string_view name; // of the known pre-tokenizer; empty: unknown
    bool adds_bos = false; // default of tokenizer.ggml.add_bos_token
    bool ignore_merges = false;
};
GgufPreTokenizer gguf_pre_tokenizer(std::string_view name);

// The names of the known pre-tokenizers, separated by commas, for messages.
std::string known_pre_tokenizers();

struct PreTokenizerEntry;

// Immutable; may be used from several threads at once, each with its own Workspace.
class PreTokenizer {
public:
    // The matching state of one thread.
    class Workspace;
    struct WorkspaceDeleter {
        void operator()(Workspace* workspace) const;
    };
    using WorkspaceHandle = std::unique_ptr<Workspace, WorkspaceDeleter>;

    // Throws Error (Failed, PAL-MODEL-13) for an unknown name.
    explicit PreTokenizer(std::string_view name);
    explicit PreTokenizer(const PreTokenizerEntry& entry);
    ~PreTokenizer();

    WorkspaceHandle workspace() const;

    // The size in bytes of the segment at the start of `text`; 0 if text to come may change it and the text is not
    // `complete`. No pre-token crosses the end of a segment. Throws Error (Internal), as split does, if PCRE2
    // fails. REQUIRES: valid UTF-8, not empty.
    size_t next_segment(std::string_view text, bool complete, Workspace& workspace) const;

    // Appends the ends of the pre-tokens of one segment, as byte offsets from its start. Linear time.
    void split(std::string_view segment, Workspace& workspace, std::vector<size_t>& ends) const;

private:
    class Expression;

    void split_from(size_t step, std::string_view piece, size_t offset, Workspace& workspace,
                    std::vector<size_t>& ends) const;

    std::unique_ptr<Expression> segments_;           // matches at the start of any text
    std::vector<std::unique_ptr<Expression>> steps_; // each splits the pieces of the step before it
};

} // namespace palimpsest::engine
