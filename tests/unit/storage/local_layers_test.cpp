// Figures shown for models with local layers: budgets given in bytes, the cost of pins, and whether a policy that
// is given again is the session's own.
#include <filesystem>
#include <fstream>
#include <iostream>

#include "engine/session/cache_bytes.h"
#include "kernels/base/error.h"
#include "storage/session/pinning.h"
#include "storage/session/stored_session.h"
#include "tests/support/catch.h"
#include "tests/support/random_model.h"
#include "tests/unit/storage/scratch_database.h"

using namespace palimpsest;
using namespace palimpsest::storage;
using palimpsest::tests::refusal;
using palimpsest::tests::ScratchDatabase;

namespace {

// Six layers, of which three see the last 40 tokens.
const std::shared_ptr<const engine::Model>& gemma()
{
    static const auto loaded = [] {
        const auto path = tests::random_model({.layers = 6,
                                               .head_dim = 16,
                                               .vocabulary = 300,
                                               .context = 1024,
                                               .architecture = "gemma3",
                                               .window = 40,
                                               .has_tokenizer = true});
        auto model = engine::Model::load(path, kernels::open_backend({.device = "cpu", .threads = 1, .simd = ""}));
        std::filesystem::remove(path); // stays mapped
        return model;
    }();
    return loaded;
}

constexpr uint64_t token = 2 * 2 * 16 * 2; // bytes in one layer: 2 heads, keys and values of 16 16-bit numbers

int32_t budget_for(uint64_t bytes)
{
    SessionChoice choice;
    choice.budget = std::to_string(bytes) + "B";
    choice.chunk = 24;
    return choice.session(gemma()->config()).budget;
}

class Quiet final : public Listener {};

} // namespace

TEST_CASE("a budget in bytes counts local layers with their window")
{
    const uint64_t chunk = 6 * 24 * token;
    CHECK(budget_for(chunk + 6 * 30 * token) == 30); // below the window all layers cost the same
    CHECK(budget_for(chunk + 6 * 40 * token) == 40);
    CHECK(budget_for(chunk + (3 * 40 + 3 * 72) * token) == 72);
    CHECK(budget_for(chunk + (3 * 40 + 3 * 512) * token) == 512);
    CHECK(refusal([&] { budget_for(chunk); }) == "PAL-MEM-01");
    CHECK(refusal([&] { budget_for(1024); }) == "PAL-MEM-01");
}

TEST_CASE("the cost of pins counts only the layers that hold them")
{
    engine::SessionOptions options;
    options.budget = 72;
    options.chunk = 24;
    options.pins = engine::Pins({{3, 13}});
    engine::Session session(gemma(), options);
    session.feed(std::vector<engine::TokenId>(100, 80));
    CHECK(pins_json(session)["cache_bytes"] == 10 * 3 * token);
    CHECK(pins_sentence(session).english().find("in every head of 3 of 6 layers") != std::string::npos);
    options.budget = 30; // below the window the policy evicts in all layers
    engine::Session all(gemma(), options);
    all.feed(std::vector<engine::TokenId>(100, 80));
    CHECK(pins_json(all)["cache_bytes"] == 10 * 6 * token);
    CHECK(pins_sentence(all).english().find("in every layer and head") != std::string::npos);
}

TEST_CASE(
    "a policy that is given again with its defaults spelled out counts as unchanged in a model with local layers")
{
    ScratchDatabase scratch;
    scratch.clear();
    const auto text = scratch.file().parent_path() / "book.txt";
    std::ofstream(text) << std::string(300, 'a') << '\n';
    Quiet listener;
    StoredOptions options{.choice = {}};
    options.choice.budget = "72";
    options.choice.chunk = 24;
    options.choice.policy = "lacache"; // its parameters come from the number of layers
    options.model = gemma();
    std::string spelled_out;
    {
        const auto store = open_store(scratch.file().string(), Database::Access::Write);
        StoredSession session(*store, "book", options, listener);
        Document document(text.string(), std::cin);
        session.read(document);
        spelled_out = session.session().options().policy.text();
        CHECK(spelled_out.find("recent=3") != std::string::npos);
    }
    const auto resumed_with = [&](const std::string& policy) {
        options.choice.policy = policy;
        options.choice.is_given = [](Setting setting) { return setting == Setting::Policy; };
        const auto store = open_store(scratch.file().string(), Database::Access::Write);
        return refusal([&] { StoredSession(*store, "book", options, listener); });
    };
    CHECK(resumed_with("lacache").empty());
    CHECK(resumed_with(spelled_out).empty());
    CHECK(resumed_with("lacache:overlap=0").empty());
    CHECK(resumed_with("lacache:recent=3").empty());
    CHECK(resumed_with("lacache:recent=6") == "PAL-SESSION-06");
    CHECK(resumed_with("treekv") == "PAL-SESSION-06");
}
