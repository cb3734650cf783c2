// The JSON documents about what sessions keep: their members and the members' order, because readers may compare
// the bytes.
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "storage/session/comparison_report.h"
#include "storage/session/retention_report.h"
#include "tests/support/catch.h"
#include "tests/support/random_model.h"

using namespace palimpsest;
using namespace palimpsest::storage;
using nlohmann::ordered_json;

namespace {

using Keys = std::vector<std::string>;

Keys keys_of(const ordered_json& object)
{
    Keys keys;
    for (const auto& [key, value] : object.items())
        keys.push_back(key);
    return keys;
}

// Four layers, of which two see the last 40 tokens.
const std::shared_ptr<const engine::Model>& gemma()
{
    static const auto loaded = [] {
        const auto path = tests::random_model({.head_dim = 16,
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

std::unique_ptr<engine::Session> session_with(const engine::Pins& pins)
{
    engine::SessionOptions options;
    options.budget = 72;
    options.chunk = 24;
    options.pins = pins;
    auto session = std::make_unique<engine::Session>(gemma(), options);
    session->feed(std::vector<engine::TokenId>(200, 80));
    return session;
}

const Keys policy_keys = {"name", "budget", "chunk", "positions", "parameters", "budgets", "remarks"};

} // namespace

TEST_CASE("the retention document has its members in the documented order")
{
    const auto session = session_with(engine::Pins({{3, 13}}));
    RetentionReport report = RetentionReport::of(*session, ModelReport::of(session->model()),
                                                 {.tokens_in_input = 200, .tokens_read = 200});
    const engine::RetentionMap map = session->retention();
    Keys expected = {"schema",   "model", "policy", "protocol", "tokens_seen",
                     "coverage", "reach", "memory", "pins",     "documents"};
    const ordered_json document = report.json(map, session->telemetry());
    CHECK(keys_of(document) == expected);
    CHECK(document["schema"] == "palimpsest.retention/1");
    CHECK(document["protocol"] == "blind");
    CHECK(document["tokens_seen"] == map.tokens_seen);
    CHECK(keys_of(document["model"]) == Keys{"name", "file", "fingerprint", "layers", "kv_heads"});
    CHECK(keys_of(document["policy"]) == policy_keys);
    CHECK(keys_of(document["policy"]["budgets"]) == Keys{"mode", "cap", "layers", "limits"});
    CHECK(document["policy"]["budgets"]["limits"].size() == 4);
    CHECK(document["policy"]["budgets"] == lengths_json(*session));
    CHECK(keys_of(document["coverage"]) ==
          Keys{"tokens_in_input", "tokens_read", "pages_without_text", "invalid_sequences", "nul_characters"});
    CHECK(keys_of(document["reach"]) == Keys{"median_age_tokens", "kept_by_tenth_of_the_input"});
    CHECK(keys_of(document["memory"]) == Keys{"cache_bytes", "scratch_bytes", "full_cache_bytes"});
    CHECK(keys_of(document["pins"]) == Keys{"tokens", "budget", "cache_bytes", "ranges"});
    CHECK(keys_of(document["pins"]["ranges"][0]) == Keys{"first", "last", "held"});

    report.session = "Ashford";
    report.stored = {.tokens_fed_again = 1, .bytes_written = 2};
    report.question = "Who?";
    expected.insert(expected.begin() + 1, "session");
    expected.insert(expected.end(), {"tokens_fed_again", "bytes_written", "question"});
    const ordered_json of_stored = report.json(map, session->telemetry());
    CHECK(keys_of(of_stored) == expected);
    CHECK(of_stored["protocol"] == "steered");
}

TEST_CASE("retained-token map and session give the same held share of a range")
{
    const auto session = session_with(engine::Pins({{3, 13}, {190, 200}, {500, 505}}));
    const engine::RetentionMap map = session->retention();
    for (const engine::TokenRange range :
         {engine::TokenRange{3, 13}, {0, 100}, {50, 60}, {190, 200}, {500, 505}, {7, 7}})
        CHECK(engine::held(map, range) == session->held(range));
    const ordered_json pins = pins_json(*session);
    CHECK(pins["ranges"][0]["held"] == 0.5); // local layers have dropped it
    CHECK(pins["ranges"][2]["held"] == 0.0); // not read yet
}

TEST_CASE("the comparison document has its members in the documented order")
{
    const auto a = session_with({}), b = session_with(engine::Pins({{3, 13}}));
    const engine::RetentionMap kept_by_a = a->retention(), kept_by_b = b->retention();
    ComparisonReport report{.model = ModelReport::of(*gemma()), .coverage = {}};
    report.contenders.push_back({.policy = PolicyReport::of(*a),
                                 .loss = engine::Loss{.tokens = 2, .total = 1},
                                 .tokens_per_second = 8,
                                 .telemetry = a->telemetry(),
                                 .map = &kept_by_a});
    report.contenders.push_back({.policy = PolicyReport::of(*b), .telemetry = b->telemetry(), .map = &kept_by_b});
    CHECK(report.json()["overlaps"].empty());
    report.overlap = [&](size_t, size_t) { return engine::overlap(kept_by_a, kept_by_b); };
    const ordered_json document = report.json();
    CHECK(keys_of(document) == Keys{"schema", "model", "coverage", "results", "overlaps"});
    CHECK(document["schema"] == "palimpsest.comparison/1");
    for (const ordered_json& result : document["results"]) {
        CHECK(keys_of(result) == Keys{"policy", "protocol", "tokens_seen", "complete", "perplexity", "mean_loss",
                                      "tokens_per_second", "memory", "reach", "heads"});
        CHECK(keys_of(result["policy"]) == policy_keys);
        CHECK(result["heads"].size() == 8);
    }
    CHECK(document["results"][0]["mean_loss"] == 0.5);
    CHECK(document["results"][0]["tokens_per_second"] == 8.0);
    for (const char* key : {"perplexity", "mean_loss", "tokens_per_second"})
        CHECK(document["results"][1][key].is_null());
    REQUIRE(document["overlaps"].size() == 1);
    CHECK(keys_of(document["overlaps"][0]) == Keys{"a", "b", "overlap"});
    CHECK(document["overlaps"][0]["b"] == 1);
}
