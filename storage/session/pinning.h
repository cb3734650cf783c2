// Parses and resolves pin requests: token numbers, or a passage that is searched for in the stream.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/session/session.h"
#include "engine/text/passage_finder.h"
#include "kernels/base/text.h"
#include "storage/session/document.h"

namespace palimpsest::storage {

// "0-99,150", both ends inclusive, or a passage; the prefix "text:" forces a passage, as in "text:1984".
struct PinRequest {
    std::string label; // as given by the user
    std::optional<std::vector<engine::TokenRange>> ranges;
    std::string passage; // if there are no ranges
};
// Throws Error (Usage, PAL-PIN-02).
PinRequest parse_pin(const std::string& text);

// Throws Error (Usage, PAL-PIN-02) if one of the ranges begins behind the end of a stream of so many tokens.
void refuse_beyond(std::span<const engine::TokenRange> ranges, const std::string& label, uint64_t tokens,
                   const Text& where);

struct FoundPin {
    std::string label;
    std::vector<engine::TokenRange> ranges; // in the stream
    uint64_t matches = 1;                   // only the first is pinned
    bool is_cut = false;                    // its token numbers reach beyond the end of the stream
};

// Searches for several pins in one pass over a token stream. `tokens`: the length of the stream, UINT64_MAX if it
// is not known.
class PinSearch {
public:
    // Throws Error (Usage, PAL-PIN-02). Passages need the model's tokenizer. The model must outlive this object.
    PinSearch(const std::vector<std::string>& requests, const engine::Model& model);

    bool needs_text() const;
    uint64_t end_of_numbers() const; // behind the last token that is named by its number
    void push(std::span<const engine::TokenId> ids);
    void skip(uint64_t tokens); // stream tokens that are not text
    std::vector<FoundPin> found(uint64_t tokens) const;
    // Labels of passages that were not found, and of token numbers that reach beyond the end.
    std::vector<std::string> missing(uint64_t tokens) const;
    // Throws Error: NotFound (PAL-PIN-03) for a passage that was not found, Usage (PAL-PIN-02) for a range that
    // begins behind the end.
    void refuse_missing(uint64_t tokens, const Text& where) const;

private:
    std::vector<PinRequest> requests_;
    std::vector<std::optional<engine::PassageFinder>> finders_; // set for passages
};

// Notes for the user: what else matches, and what was cut at the end of a stream of so many tokens.
std::vector<Text> notes_about(const std::vector<FoundPin>& pins, uint64_t tokens);

struct PinsOfText {
    engine::Pins pins{};
    std::vector<Text> notes{}; // for the user
};
// Finds the pins of a stream in memory. Throws Error as PinSearch.
PinsOfText pins_in(std::span<const engine::TokenId> stream, const std::vector<std::string>& requests,
                   const engine::Model& model, const Text& where);
// How many tokens are fed before a document, which was not read yet; may read its first block.
using TokensBefore = std::function<uint64_t(Document& document, bool is_first)>;
// Finds the pins of documents; `first_text`: no text was fed before the first. Reads the documents an extra time,
// one after the other: for passages, and for the end of the text, at which token numbers are cut. Of an input that
// can be read only once the end is not known. Throws Error: Usage (PAL-PIN-02; 04 for a passage of such an input),
// NotFound (PAL-PIN-03).
PinsOfText pins_of(const std::vector<std::string>& requests, const Documents& documents, bool first_text,
                   const TokensBefore& tokens_before, const engine::Model& model);

// Cost of the pins: "12 tokens take 0.6 % of the budget in every layer and head (36 kB); 100 % of what was read of
// them is held".
Text pins_sentence(const engine::Session& session);

// The JSON member "pins": the memory that pins take; json() adds how much of them a map keeps.
struct PinsReport {
    engine::Pins pins{};
    int32_t budget = 0;       // capacity_of()
    uint64_t cache_bytes = 0; // of all pinned tokens in all layers that hold them

    static PinsReport of(const engine::Session& session);
    nlohmann::ordered_json json(const engine::RetentionMap& map) const;
};
nlohmann::ordered_json pins_json(const engine::Session& session);

} // namespace palimpsest::storage
