// How many tokens the lists of a session hold at present: where a policy chooses or spreads its budget, that is
// what it chose.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/session/session.h"

namespace palimpsest::storage {

struct ListLengths {
    std::vector<double> layers; // tokens per KV head, on average over the heads of the layer
    uint64_t least = 0;         // of all lists
    uint64_t greatest = 0;

    static ListLengths of(const engine::RetentionMap& map);
    bool even() const { return least == greatest; }
    double mean() const;
};

// What the session was begun with, --budget none being as much as the model's positions allow.
int32_t budget_of(const engine::Session& session);
// The most a list holds, on average: the budget, unless it says only how much is read of what is kept.
int32_t capacity_of(const engine::Session& session);
// As --budget takes it: "2048", or "none".
std::string budget_text(int32_t budget);
// {"mode": "given", "auto" or "none", "cap": capacity_of, "layers": [...]}
nlohmann::ordered_json lengths_json(const engine::Session& session);
// "12 to 64 tokens per layer and head, 31.4 on average; as many as attention needs, at most 64"; empty where all
// lists are of one length that the budget gives.
std::string lengths_sentence(const engine::Session& session);

} // namespace palimpsest::storage
