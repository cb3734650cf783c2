// Pre-tokenizers: how a byte-level vocabulary's text is cut into pre-tokens, which are merged each on its own.
//
// Every expression is compiled in; none is read from a file. An expression is kept as tokenizer.json files publish
// it and runs in PCRE2 with just-in-time compilation. \s is the Unicode property White_Space, as in the reference
// library's engine (PCRE2's own \s has U+180E too).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace palimpsest::engine {

// The steps of a pre-tokenizer as tokenizer.json describes it, so that files can be compared with the known ones:
// the expression of a Split, in ASCII (other characters as \x{HEX}), or "#digits", "#digits individual",
// "#bytes" (GPT-2's expression), "#metaspace".
using PreTokenizerSteps = std::vector<std::string>;

// The name of the known pre-tokenizer with these steps; empty: none.
std::string_view pre_tokenizer_with(const PreTokenizerSteps& steps);

// The pre-tokenizer that a GGUF's tokenizer.ggml.pre names. The aliases are those that llama.cpp accepts.
struct GgufPreTokenizer {
    std::string_view name; // of the known pre-tokenizer; empty: unknown
    bool adds_bos = false; // unless tokenizer.ggml.add_bos_token says otherwise
    bool ignore_merges = false;
};
GgufPreTokenizer gguf_pre_tokenizer(std::string_view name);

// The names of the known pre-tokenizers, separated by commas, for messages.
std::string known_pre_tokenizers();

struct PreTokenizerEntry;

// Immutable; split and next may be called from several threads at once, each with its own Workspace.
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

    // The bytes of the segment at the start of `text`; 0 if more text may change it and the text is not `complete`.
    // Pre-tokens never reach across the end of a segment. Throws Error (Internal), as split does, if PCRE2 fails.
    // REQUIRES: valid UTF-8, not empty.
    size_t next_segment(std::string_view text, bool complete, Workspace& workspace) const;

    // Appends the ends of the pre-tokens of one segment, in bytes from its start. Linear time.
    void split(std::string_view segment, Workspace& workspace, std::vector<size_t>& ends) const;

private:
    class Expression;

    void split_from(size_t step, std::string_view piece, size_t offset, Workspace& workspace,
                    std::vector<size_t>& ends) const;

    std::unique_ptr<Expression> segments_;           // matches at the start of any text
    std::vector<std::unique_ptr<Expression>> steps_; // each cuts the pieces of the last one
};

} // namespace palimpsest::engine
