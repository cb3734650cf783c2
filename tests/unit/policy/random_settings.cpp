#include "tests/unit/policy/random_settings.h"

#include <algorithm>
#include <cstdlib>

#include "kernels/base/error.h"
#include "tests/support/catch.h"
#include "tests/support/test_level.h"

namespace palimpsest::tests {

namespace {

class SpecText {
public:
    SpecText(Dice& dice, std::string name) : dice_(dice), text_(std::move(name)) {}

    void add(const std::string& key, const std::string& value)
    {
        text_ += (first_ ? ":" : ",") + key + "=" + value;
        first_ = false;
    }
    void add(const std::string& key, int value) { add(key, std::to_string(value)); }
    // Adds the key with a probability of 2/3.
    void maybe(const std::string& key, const std::vector<std::string>& values)
    {
        if (dice_.from(0, 2) > 0) add(key, dice_.one_of(values));
    }
    // Whether to leave out a key that another setting makes ineffective. Usually true, because such a key is
    // refused unless it has its default value.
    bool leaves_out() { return dice_.from(0, 9) > 0; }
    // floor is refused together with schedule=once.
    void add_stream_floor(int tokens)
    {
        add("floor", tokens);
        may_end_ = false;
    }
    bool may_end() const { return may_end_; }
    const std::string& text() const { return text_; }

private:
    Dice& dice_;
    std::string text_;
    bool first_ = true;
    bool may_end_ = true;
};

// Adds sinks and recent tokens that leave at least one slot of the budget.
void add_ends(Dice& dice, SpecText& spec, int budget)
{
    const int sinks = dice.from(0, std::clamp(budget - 1, 0, 5));
    spec.add("sinks", sinks);
    spec.add("recent", dice.from(0, std::max(0, budget - sinks - 1)));
}

std::string add_window(Dice& dice, SpecText& spec, int budget)
{
    add_ends(dice, spec, budget);
    std::string window = dice.one_of({"1", "2", "8", "32"});
    spec.add("window", window);
    return window;
}

void add_pooling(Dice& dice, SpecText& spec)
{
    const std::string pooling = dice.one_of({"", "avg", "max", "none"});
    if (!pooling.empty()) spec.add("pooling", pooling);
    if (pooling != "none" || !spec.leaves_out()) spec.maybe("kernel", {"1", "3", "5", "7"});
}

void add_bids(SpecText& spec, const std::string& window)
{
    if (window == "1" && spec.leaves_out()) return;
    spec.maybe("gamma", {"0", "5", "200", "1000000000"});
    spec.maybe("tau1", {"1", "0.4", "1.6", "0.01", "100"});
    spec.maybe("tau2", {"1", "0.4", "1.6", "0.01", "100"});
}

void add_allocation(Dice& dice, SpecText& spec)
{
    spec.maybe("allocation", {"linear", "geometric", "exponential", "entropy", "gini", "sparsity"});
    spec.maybe("beta", {"1", "2.5", "20", std::to_string(dice.from(1, 40))});
}

void add_heads(SpecText& spec)
{
    spec.maybe("floor", {"0", "0.2", "0.5", "1"});
}

void add_threshold(SpecText& spec)
{
    spec.maybe("threshold", {"0.001", "0.01", "0.1", "0.5"});
    spec.maybe("norm", {"head", "scores"});
    spec.maybe("mask_sinks", {"0", "1", "4", "9"});
}

void add_crossings(Dice& dice, SpecText& spec, bool takes_budget, bool takes_auto, bool takes_heads)
{
    if (takes_budget && dice.from(0, 2) == 0) {
        const std::string budget = takes_auto ? dice.one_of({"pyramid", "auto"}) : "pyramid";
        spec.add("budget", budget);
        if (budget == "pyramid") add_allocation(dice, spec);
        if (budget == "auto") add_threshold(spec);
    }
    if (takes_heads && dice.from(0, 2) == 0) {
        spec.add("heads", "ada");
        add_heads(spec);
    }
}

void add_tree(Dice& dice, SpecText& spec, const std::string& name, int budget)
{
    add_ends(dice, spec, budget);
    const bool left = dice.from(0, 2) == 0;
    spec.add("rule", left ? "left" : "score");
    if (!left || !spec.leaves_out()) spec.maybe("score", {"mean", "sum", "last"});
    if (name == "treekv" && dice.from(0, 1) == 1) spec.add("height", dice.from(1, 4));
    add_crossings(dice, spec, true, !left, !left);
}

void add_blocks(Dice& dice, SpecText& spec, int budget)
{
    const int unit = dice.from(1, 8);
    spec.add("unit", unit);
    spec.add("sinks", dice.from(0, 4));
    spec.add("recent", dice.from(unit - 1, std::max(unit - 1, budget / 2)));
    spec.maybe("rule", {"score", "left"});
}

void add_ladder(Dice& dice, SpecText& spec, int layers, int budget)
{
    const std::string pattern = dice.one_of({"stacked", "ladder", "reverse", "even", "recent", "old"});
    spec.add("pattern", pattern);
    const bool is_ladder = pattern != "recent" && pattern != "old";
    if (pattern != "old" || !spec.leaves_out()) spec.add("sinks", dice.from(0, 4));
    if (pattern == "old" || !spec.leaves_out()) spec.add("recent", dice.from(1, std::max(1, budget - 4)));
    if (!is_ladder && spec.leaves_out()) return;
    const int span = dice.from(1, layers - 1);
    spec.add("span", span);
    spec.add("overlap", dice.from(0, span - 1));
    spec.maybe("compensate", {"true", "false"});
    if (pattern == "stacked" || !spec.leaves_out()) spec.maybe("survivors", {"offsets", "score"});
}

void add_hierarchy(Dice& dice, SpecText& spec, int budget)
{
    add_window(dice, spec, budget);
    const std::string representative = dice.one_of({"", "none", "first", "last", "max", "avg"});
    if (!representative.empty()) spec.add("representative", representative);
    if (representative == "avg") spec.maybe("average", {"raw", "rotated"});
    spec.maybe("renormalise", {"true", "false"});
    if (!representative.empty() && representative != "none" && spec.leaves_out()) return;
    spec.maybe("block", {"1", "2", "3", "7"});
    spec.maybe("rounds", {"1", "8", "1+2", "3+1+8"});
}

void add_norm(Dice& dice, SpecText& spec, int budget, int layers)
{
    add_ends(dice, spec, budget);
    spec.maybe("threshold", {"0.01", "0.05", "0.3"});
    spec.maybe("rows", {"1", "4", "5%", "0.5%"});
    spec.add("full_layers", dice.from(0, layers));
    spec.maybe("ranking", {"position", "score"});
    spec.maybe("norm", {"head", "mean"});
    spec.maybe("mask_sinks", {"0", "1", "4", "9"});
    if (dice.from(0, 2) == 0) spec.add_stream_floor(dice.from(0, budget));
}

} // namespace

uint32_t draws(uint32_t usual)
{
    switch (test_level()) {
    case TestLevel::Ci:
        return std::min(usual, 15u);
    case TestLevel::Usual:
        return usual;
    case TestLevel::Full:
        return 7 * usual;
    }
    return usual;
}

const std::vector<std::string>& evicting_policies()
{
    static const std::vector<std::string> names = {
        "full",      "streaming", "random",     "h2o",          "scissorhands", "tova",          "snapkv",
        "pyramidkv", "treekv",    "treekv-log", "treekv-block", "lacache",      "hbw-kv",        "refreekv",
        "cake",      "adakv",     "chunkkv",    "knorm",        "keydiff",      "twilight-evict"};
    return names;
}

std::string random_spec(Dice& dice, const std::string& policy, const StreamShape& shape)
{
    SpecText spec(dice, policy);
    const int budget = shape.budget;
    if (policy == "streaming") {
        spec.add("sinks", dice.from(0, budget));
    } else if (policy == "knorm" || policy == "keydiff") {
        add_ends(dice, spec, budget);
    } else if (policy == "random") {
        add_ends(dice, spec, budget);
        spec.maybe("seed", {"0", "1", "7", "2147483647"});
    } else if (policy == "h2o" || policy == "tova") {
        add_ends(dice, spec, budget);
        if (policy == "h2o") spec.maybe("score", {"sum", "mean"});
        add_crossings(dice, spec, true, true, policy == "h2o");
    } else if (policy == "scissorhands") {
        add_ends(dice, spec, budget);
        spec.maybe("window", {"1", "30", "400"});
        spec.maybe("drop", {"0", "0.1", "0.5"});
        add_crossings(dice, spec, true, false, true);
    } else if (policy == "snapkv" || policy == "pyramidkv" || policy == "cake" || policy == "adakv") {
        const std::string window = add_window(dice, spec, budget);
        add_pooling(dice, spec);
        if (policy == "pyramidkv") add_allocation(dice, spec);
        if (policy == "pyramidkv") spec.maybe("nested", {"true", "false"});
        if (policy == "cake") add_bids(spec, window);
        if (policy == "adakv") add_heads(spec);
        add_crossings(dice, spec, policy == "snapkv" || policy == "adakv", true, policy != "adakv");
    } else if (policy == "treekv" || policy == "treekv-log") {
        add_tree(dice, spec, policy, budget);
    } else if (policy == "treekv-block") {
        add_blocks(dice, spec, budget);
    } else if (policy == "lacache") {
        add_ladder(dice, spec, shape.layers, budget);
    } else if (policy == "hbw-kv") {
        add_hierarchy(dice, spec, budget);
        add_crossings(dice, spec, true, true, true);
    } else if (policy == "chunkkv") {
        add_window(dice, spec, budget);
        spec.maybe("block", {"1", "2", "3", "7", "10"});
        spec.maybe("score", {"mean", "sum"});
        add_crossings(dice, spec, true, true, true);
    } else if (policy == "refreekv") {
        add_norm(dice, spec, budget, shape.layers);
    } else if (policy == "twilight-evict") {
        add_window(dice, spec, budget);
        spec.maybe("p", {"0.3", "0.85", "0.99", "1"});
    }
    const int schedule = dice.from(0, 9);
    if (schedule < 2) spec.add("schedule", "every:" + std::to_string(dice.from(1, 20)));
    if (schedule == 2 && spec.may_end()) spec.add("schedule", "once");
    return spec.text();
}

engine::Pins random_pins(Dice& dice, uint32_t stream)
{
    std::vector<engine::TokenRange> ranges;
    for (int i = dice.from(-2, 3); i > 0; --i) {
        const auto first = static_cast<uint32_t>(dice.from(0, dice.from(0, 2) == 0 ? 9 : static_cast<int>(stream)));
        ranges.push_back({first, first + static_cast<uint32_t>(dice.from(0, 8))});
    }
    return engine::Pins(ranges);
}

bool is_accepted(const std::string& spec, const StreamShape& shape)
{
    try {
        engine::make_policy(engine::PolicySpec::parse(spec), context_of(shape));
        return true;
    } catch (const Error& error) {
        if (error.code() != ErrorCode::ImpossiblePolicy && error.code() != ErrorCode::PinsExceedBudget)
            FAIL(spec << ": " << error.what());
        return false;
    }
}

} // namespace palimpsest::tests
