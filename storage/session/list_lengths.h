// Current lengths of a session's lists; for policies that choose or distribute the budget, they show the policy's
// choice.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/session/session.h"
#include "kernels/base/text.h"

namespace palimpsest::storage {

struct ListLengths {
    std::vector<double> layers; // per layer: average tokens per KV head
    uint64_t least = 0;         // shortest of all lists
    uint64_t greatest = 0;

    static ListLengths of(const engine::RetentionMap& map);
    bool even() const { return least == greatest; }
    double mean() const;
};

// Budget that the session was created with; without a budget, the policy's capacity.
int32_t budget_of(const engine::Session& session);
// Maximum average list length. Equals the budget, except for retrieval policies, whose budget limits only
// attention.
int32_t capacity_of(const engine::Session& session);
// The budget as the value of an option: "2048", or "none".
std::string budget_text(int32_t budget);

// The JSON member "budgets": how long the lists may be; json() adds how long the lists of a map are.
struct LengthsReport {
    std::string mode = "given";    // "given", "auto" or "none"
    int32_t cap = 0;               // capacity_of()
    std::vector<int32_t> limits{}; // a limit per layer; only for models with sliding windows

    static LengthsReport of(const engine::Session& session);
    nlohmann::ordered_json json(const engine::RetentionMap& map) const;
};
nlohmann::ordered_json lengths_json(const engine::Session& session);
// "12 to 64 tokens per layer and head, 31.4 on average; as many as attention needs, at most 64"; empty if all lists
// have the length that the budget gives.
Text lengths_sentence(const engine::Session& session);

} // namespace palimpsest::storage
