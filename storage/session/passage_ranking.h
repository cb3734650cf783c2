// Ranks passages by how likely the session's model finds the question after each of them.
#pragma once

#include <memory>
#include <span>
#include <stop_token>
#include <string_view>
#include <vector>

#include "engine/model/model.h"
#include "storage/passages/passage_search.h"
#include "storage/session/store.h"

namespace palimpsest::storage {

struct RankedPassages {
    std::vector<PassageHit> hits{}; // best first
    size_t ranked = 0;              // how many of them the model has looked at
};

// Ranks the best `most_ranked` of the hits, which are best first, by their score and the likelihood of the
// question, both standardised; the others follow as they are. Ends after `seconds`, or when the first few passages
// show that too few could be ranked until then to be worth it; then, and if stopped, those that were not looked at
// count as average. Costs a prefill of a passage and the question for each.
constexpr size_t most_ranked = 48;
RankedPassages rank_passages(std::vector<PassageHit> hits, std::string_view question,
                             const std::shared_ptr<const engine::Model>& model, Store& store, double seconds,
                             const std::stop_token& stop);

} // namespace palimpsest::storage
