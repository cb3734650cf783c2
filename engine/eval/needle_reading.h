// One text with needles in it, read by one session, and what the session then knows of each needle.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/eval/needle.h"
#include "engine/policy/pins.h"
#include "engine/session/protocol.h"
#include "engine/session/session.h"

namespace palimpsest::engine {

struct NeedleSettings {
    NeedleWording wording = NeedleWording::Repeated;
    size_t decoys = 0; // per needle
    uint64_t seed = 0;
};

struct NeedleText {
    struct Asked {
        double depth = 0;
        TokenRange at; // of the sentence
        std::vector<TokenId> question;
        std::vector<std::vector<TokenId>> answers; // the first is right
        std::string value;                         // the right one, without spaces
    };
    std::vector<TokenId> tokens;
    std::vector<Asked> asked; // a needle for each depth, in their order
};

// `text`: with BOS and whatever else has to stay first, `fixed` tokens. The decoys are spread over the text. The
// needle of a depth depends on the seed and the number of depths before it alone; the numbers to choose from are
// its own, its decoys', those of the other needles, and others that are not in the needles. Throws Error (Usage) if
// the text is shorter than `length` without the needles, or the length does not hold the needles.
NeedleText make_needle_text(const Tokenizer& tokenizer, std::span<const TokenId> text, size_t fixed, size_t length,
                            std::span<const double> depths, const NeedleSettings& settings);

// The most tokens that a session has to hold besides the text to be asked.
size_t room_for_answers(const NeedleText& text, int32_t generated);

struct NeedleAnswer {
    std::vector<double> losses;         // AnswerChoice::losses
    bool is_chosen = false;             // the right answer is the most likely one
    std::optional<bool> is_generated{}; // it is the first number of the generated answer
    double held = 0;                    // Session::held of the sentence, after the text was read
};

// Reads the text and asks for each needle on copies. `generated`: also generates this many tokens for each, or as
// many as the answers have if that is more; 0: none. Steered needs one needle, and question rows only change
// something if the policy uses attention. Returns nullopt if stopped. Throws as Session::feed does. REQUIRES: the
// session is new; blind, or one needle.
std::optional<std::vector<NeedleAnswer>> read_needles(Session& session, const NeedleText& text, Protocol protocol,
                                                      int32_t generated, const FeedOptions& options);

} // namespace palimpsest::engine
