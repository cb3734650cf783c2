// Sums token losses and reports them at chosen lengths of the stream.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace palimpsest::engine {

struct Loss {
    uint64_t tokens = 0; // predicted tokens: a stream's first has no loss
    double total = 0;    // nats
    double mean() const { return tokens == 0 ? 0.0 : total / static_cast<double>(tokens); }
    double perplexity() const; // exp of the mean loss
};

class LossMeter {
public:
    // `lengths`: stream lengths at which the loss so far is recorded.
    explicit LossMeter(std::vector<uint64_t> lengths = {});

    void add(uint64_t index, double nll); // `index`: stream index of the token; call in ascending order
    const Loss& all() const { return all_; }
    // For each length that was reached: the loss of the tokens up to it.
    const std::vector<std::pair<uint64_t, Loss>>& by_length() const { return noted_; }

private:
    std::vector<uint64_t> lengths_;
    std::vector<std::pair<uint64_t, Loss>> noted_;
    Loss all_;
};

} // namespace palimpsest::engine
