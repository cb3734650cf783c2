#include "tests/unit/session/session_fixture.h"

#include <filesystem>
#include <random>

namespace palimpsest::tests {

using namespace engine;

std::shared_ptr<const Model> load_random(const RandomModelShape& shape, int threads)
{
    const auto path = random_model(shape);
    auto model = Model::load(path, kernels::open_backend({.device = "cpu", .threads = threads, .simd = ""}));
    std::filesystem::remove(path); // stays mapped
    return model;
}

std::vector<TokenId> random_text(size_t count, uint64_t seed, int32_t vocabulary)
{
    std::mt19937_64 random(seed);
    std::vector<TokenId> tokens(count);
    for (TokenId& token : tokens)
        token = static_cast<TokenId>(random() % static_cast<uint64_t>(vocabulary));
    return tokens;
}

std::vector<TokenId> say(Session& session, int32_t tokens)
{
    return session.generate({.max_tokens = tokens, .stop = {}, .token = {}, .is_end = {}}).tokens;
}

Outcome outcome_of(Session& session, int32_t generate)
{
    Outcome o;
    o.logits = session.logits();
    o.kept = session.retention().tokens;
    o.generated = say(session, generate);
    o.logits_after = session.logits();
    o.kept_after = session.retention().tokens;
    return o;
}

} // namespace palimpsest::tests
