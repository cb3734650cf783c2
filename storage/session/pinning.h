// What the user pins: token numbers, or a passage that is looked for in what was read (cli.md, --pin).
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/session/session.h"
#include "engine/text/passage_finder.h"
#include "storage/session/document.h"

namespace palimpsest::storage {

// "0-99,150", both ends included, or a passage; "text:1984" is a passage whatever it looks like.
struct PinWish {
    std::string label; // as given
    std::optional<std::vector<engine::TokenRange>> ranges;
    std::string passage; // without ranges
};
// Throws Error (Usage, PAL-PIN-02).
PinWish parse_pin(const std::string& text);

struct FoundPin {
    std::string label;
    std::vector<engine::TokenRange> ranges; // of the stream
    uint64_t matches = 1;                   // only the first is pinned
};

// Looks for several pins in one pass over a stream of tokens.
class PinSearch {
public:
    // Throws Error (Usage, PAL-PIN-02). A passage needs the model's tokenizer. The model must outlive this.
    PinSearch(const std::vector<std::string>& wishes, const engine::Model& model);

    bool needs_text() const;
    void push(std::span<const engine::TokenId> ids);
    void skip(uint64_t tokens); // of the stream, which are not text
    std::vector<FoundPin> found() const;
    std::vector<std::string> missing() const; // the wishes whose passage did not come by

private:
    std::vector<PinWish> wishes_;
    std::vector<std::optional<engine::PassageFinder>> finders_; // of the passages
};

// Throws Error (NotFound, PAL-PIN-03) naming the first of `missing`, if there is one.
void refuse_missing(const std::vector<std::string>& missing, const std::string& where);
engine::Pins joined(const std::vector<FoundPin>& pins);
// For a stream that lies in memory.
engine::Pins pins_in(std::span<const engine::TokenId> stream, const std::vector<std::string>& wishes,
                     const engine::Model& model, const std::string& where);

// What the pins take: "12 pinned tokens take 0.6 % of the budget (36 kB); 100 % of them are held".
std::string pins_sentence(const engine::Session& session);
nlohmann::ordered_json pins_json(const engine::Session& session);

} // namespace palimpsest::storage
