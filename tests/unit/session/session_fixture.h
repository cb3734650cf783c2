// Shared by session tests: random models, random text, and the results in which two sessions must not differ.
#pragma once

#include <memory>
#include <vector>

#include "engine/session/session.h"
#include "tests/support/random_model.h"

namespace palimpsest::tests {

std::shared_ptr<const engine::Model> load_random(const RandomModelShape& shape = {}, int threads = 2);
std::vector<engine::TokenId> random_text(size_t count, uint64_t seed = 5, int32_t vocabulary = 96);

struct Outcome {
    std::vector<std::vector<uint32_t>> kept;
    std::vector<float> logits;
    std::vector<engine::TokenId> generated;
    std::vector<float> logits_after;
    std::vector<std::vector<uint32_t>> kept_after;
    bool operator==(const Outcome&) const = default;
};
Outcome outcome_of(engine::Session& session, int32_t generate = 24);
std::vector<engine::TokenId> say(engine::Session& session, int32_t tokens);

} // namespace palimpsest::tests
