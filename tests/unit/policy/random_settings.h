// Random settings of every policy, most of them valid.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "tests/unit/policy/policy_stream.h"

namespace palimpsest::tests {

class Dice {
public:
    explicit Dice(uint32_t seed) : random_(seed) {}
    int from(int least, int most) { return std::uniform_int_distribution<int>(least, most)(random_); }
    std::string one_of(const std::vector<std::string>& words)
    {
        return words[static_cast<size_t>(from(0, static_cast<int>(words.size()) - 1))];
    }

private:
    std::mt19937 random_;
};

// Number of settings to draw per policy: `usual` by default. At most 15 at the CI level, where sanitizers
// make every step slow; a value with a probability of 1/8 is then not drawn for one policy in seven. Seven times
// `usual` before a release.
uint32_t draws(uint32_t usual);

// Every policy that evicts, and full.
const std::vector<std::string>& evicting_policies();

// A spec of this policy with some of its keys, options of other policies and schedules included.
std::string random_spec(Dice& dice, const std::string& policy, const StreamShape& shape);

// Returns no pins, or a few ranges anywhere in the stream, which may include sinks and tokens that are never read.
engine::Pins random_pins(Dice& dice, uint32_t stream);

// Returns false if the combination of settings is refused; fails the test on any other error.
bool is_accepted(const std::string& spec, const StreamShape& shape);

} // namespace palimpsest::tests
