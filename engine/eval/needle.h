// Needles: sentences that are hidden in a long text, and the questions that ask for them ("Needle in a Haystack",
// Kamradt 2023; with several keys RULER, arXiv:2404.06654, section 3).
#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace palimpsest::engine {

enum class NeedleWording : uint8_t {
    Repeated,   // the question ends with the words that stand before the value in the needle
    Paraphrased // it asks in other words
};

struct Needle {
    static constexpr size_t answers_asked = 10;

    std::string sentence; // with a space before it
    std::string question; // up to the answer
    // Numbers of five digits, each with a space before it. The first is right, those of the decoys follow, and then
    // numbers of no sentence.
    std::array<std::string, answers_asked> answers;
    std::vector<std::string> decoys; // sentences like `sentence`, of other keys and values
};

// Makes needles that share no key and no value. The same seed makes the same needles on every machine.
class NeedleMaker {
public:
    static constexpr size_t most_decoys = Needle::answers_asked - 1;

    explicit NeedleMaker(uint64_t seed) : random_(seed) {}

    // REQUIRES: decoys <= most_decoys. Throws Error (Usage) once all keys are used, after some hundreds.
    Needle make(NeedleWording wording, size_t decoys);

private:
    std::string next_key();
    std::string next_value();

    std::mt19937_64 random_;
    std::vector<std::string> keys_;   // not used so far, in the order of their use
    std::vector<std::string> values_; // used so far
    bool has_keys_ = false;
};

} // namespace palimpsest::engine
