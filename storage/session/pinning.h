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

struct FoundPin {
    std::string label;
    std::vector<engine::TokenRange> ranges; // in the stream
    uint64_t matches = 1;                   // only the first is pinned
};

// Searches for several pins in one pass over a token stream.
class PinSearch {
public:
    // Throws Error (Usage, PAL-PIN-02). Passages need the model's tokenizer. The model must outlive this object.
    PinSearch(const std::vector<std::string>& requests, const engine::Model& model);

    bool needs_text() const;
    void push(std::span<const engine::TokenId> ids);
    void skip(uint64_t tokens); // stream tokens that are not text
    std::vector<FoundPin> found() const;
    std::vector<std::string> missing() const; // labels of the passages that were not found

private:
    std::vector<PinRequest> requests_;
    std::vector<std::optional<engine::PassageFinder>> finders_; // set for passages
};

// Throws Error (NotFound, PAL-PIN-03) that names the first of `missing`, if any.
void refuse_missing(const std::vector<std::string>& missing, const Text& where);
engine::Pins joined(const std::vector<FoundPin>& pins);
// Finds the pins of a stream in memory.
engine::Pins pins_in(std::span<const engine::TokenId> stream, const std::vector<std::string>& requests,
                     const engine::Model& model, const Text& where);
// How many tokens are fed before a document, which was not read yet.
using TokensBefore = std::function<uint64_t(Document& document, bool is_first)>;
// Finds the pins of documents; `first_text`: no text was fed before the first. Reads the documents an extra time,
// one after the other, if a passage must be found. Throws Error: Usage (PAL-PIN-02; 04 for an
// input that can be read only once), NotFound (PAL-PIN-03).
engine::Pins pins_of(const std::vector<std::string>& requests, const Documents& documents, bool first_text,
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
