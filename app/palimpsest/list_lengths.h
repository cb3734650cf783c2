// How many tokens the lists of a session hold at present: where a policy chooses or spreads its budget, that is
// what it chose.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/session/session.h"

namespace palimpsest::app {

struct ListLengths {
    std::vector<double> layers; // tokens per KV head, on average over the heads of the layer
    bool even = true;           // all lists are of one length

    static ListLengths of(const engine::RetentionMap& map);
    double least() const;
    double mean() const;
    double greatest() const;
};

// What the session was begun with, --budget none being as much as the model's positions allow.
int32_t budget_of(const engine::Session& session);
// {"mode": "given", "auto" or "none", "cap": most tokens a list holds on average, "layers": [...]}
nlohmann::ordered_json lengths_json(const engine::Session& session);
// "12 to 64 tokens per layer and head, 31.4 on average; as many as attention needs, at most 64"; empty where all
// lists are of one length that the budget gives.
std::string lengths_sentence(const engine::Session& session);

} // namespace palimpsest::app
