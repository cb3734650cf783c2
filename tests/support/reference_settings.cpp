#include "tests/support/reference_settings.h"

#include <algorithm>
#include <sstream>

#include "engine/policy/policy.h"

namespace palimpsest::tests {

namespace {

class Keys {
public:
    explicit Keys(const engine::PolicySpec& spec) : spec_(spec) {}

    std::string text(const std::string& key, const std::string& fallback) const
    {
        const auto found = spec_.parameters.find(key);
        return found == spec_.parameters.end() ? fallback : found->second;
    }
    int whole(const std::string& key, int fallback) const { return std::stoi(text(key, std::to_string(fallback))); }
    double real(const std::string& key, double fallback) const
    {
        const std::string given = text(key, "");
        return given.empty() ? fallback : std::stod(given);
    }
    bool flag(const std::string& key) const { return text(key, "false") == "true"; }

private:
    const engine::PolicySpec& spec_;
};

int divided_up(int a, int b)
{
    return a / b + (a % b != 0 ? 1 : 0);
}

void read_schedule(ReferenceSettings& to, const std::string& text)
{
    to.once = text == "once";
    if (text.rfind("every:", 0) == 0) to.excess = std::stoi(text.substr(6));
}

// Reads window, pooling, and recent tokens, whose number defaults to the window's length.
void read_window(ReferenceSettings& to, const Keys& keys, int window, int kernel, const std::string& pooling)
{
    to.s = keys.whole("sinks", 0);
    to.window = keys.whole("window", window);
    to.w = keys.whole("recent", to.window);
    to.kernel = keys.whole("kernel", kernel);
    to.pooling = keys.text("pooling", pooling);
}

void read_half_ends(ReferenceSettings& to, const Keys& keys)
{
    to.s = keys.whole("sinks", 4);
    to.w = keys.whole("recent", std::max(0, to.c / 2 - to.s));
}

void read_tree(ReferenceSettings& to, const Keys& keys)
{
    read_half_ends(to, keys);
    to.keep_left = keys.text("rule", "score") == "left";
    const std::string score = keys.text("score", "mean");
    to.score = score == "mean" ? "mean" : "sum";
    to.window = to.keep_left ? 0 : score == "last" ? 1 : ReferenceSettings::all_queries;
    to.height = keys.text("height", "none") == "none" ? 0 : keys.whole("height", 0);
}

// Rounds c - s - w down to whole units; the remainder is added to the recent tokens.
void read_blocks(ReferenceSettings& to, const Keys& keys)
{
    to.unit = keys.whole("unit", 16);
    to.s = keys.whole("sinks", 0);
    to.w = keys.whole("recent", to.unit);
    to.keep_left = keys.text("rule", "score") == "left";
    to.window = to.keep_left ? 0 : to.unit;
    to.w += to.selectable() % to.unit;
}

void read_ladder(ReferenceSettings& to, const Keys& keys, int layers)
{
    to.pattern = keys.text("pattern", "stacked");
    to.s = keys.whole("sinks", 4);
    to.w = keys.whole("recent", to.is_ladder() ? layers : 1);
    const int span = keys.whole("span", layers / 2);
    to.survivors = keys.text("survivors", "offsets");
    if (!to.is_ladder()) return;
    if (to.survivors == "score") to.window = ReferenceSettings::all_queries;
    to.step = span - keys.whole("overlap", 0);
    to.tile = 1 + divided_up(layers - span, to.step);
    to.tile_keeps = std::min(divided_up(span, to.step), to.tile);
    if (keys.flag("compensate")) to.c += (to.tile - to.tile_keeps) / 2;
}

void read_hierarchy(ReferenceSettings& to, const Keys& keys)
{
    read_window(to, keys, 32, 1, "none");
    to.block = keys.whole("block", std::max(1, to.c / 32));
    to.renormalise = keys.flag("renormalise");
    to.representative = keys.text("representative", "none");
    to.rounds.clear();
    std::istringstream rounds(keys.text("rounds", "1+8"));
    for (std::string round; std::getline(rounds, round, '+');)
        to.rounds.push_back(std::stoi(round));
}

void read_threshold(ReferenceSettings& to, const Keys& keys)
{
    to.s = keys.whole("sinks", 4);
    to.w = keys.whole("recent", 1);
    to.threshold = keys.real("threshold", 0.01);
    to.full_layers = keys.whole("full_layers", 2);
    to.ranked_by_score = keys.text("ranking", "position") == "score";
    to.norm_of_mean = keys.text("norm", "head") == "mean";
    to.moments = !to.norm_of_mean;
    if (to.ranked_by_score && !to.norm_of_mean) to.score = "sum";
    to.mask_sinks = keys.whole("mask_sinks", to.ranked_by_score ? 0 : 4);
    to.least = keys.whole("floor", to.once || to.c == engine::no_budget ? 0 : to.c / 4);
    to.layer_mean = true;
    const std::string rows = keys.text("rows", "1");
    if (rows.back() == '%')
        to.rows_percent = std::stod(rows);
    else
        to.window = std::stoi(rows);
}

void read_named(ReferenceSettings& to, const Keys& keys, int layers)
{
    if (to.name == "streaming") {
        to.s = keys.whole("sinks", 4);
        to.w = to.c - to.s;
    } else if (to.name == "random") {
        read_half_ends(to, keys);
        to.seed = static_cast<uint64_t>(keys.whole("seed", 0));
    } else if (to.name == "h2o") {
        to.s = keys.whole("sinks", 0);
        to.w = keys.whole("recent", to.c / 2);
        to.window = ReferenceSettings::all_queries;
        to.score = keys.text("score", "sum");
    } else if (to.name == "scissorhands") {
        to.s = keys.whole("sinks", 0);
        to.w = keys.whole("recent", 10);
        to.window = keys.whole("window", 400);
        to.drop = keys.real("drop", 0);
        to.low_counts = true;
        to.score = "low";
    } else if (to.name == "tova") {
        to.s = keys.whole("sinks", 0);
        to.w = keys.whole("recent", 0);
        to.window = 1;
        to.score = "sum"; // with this window, the attention of one row
        to.layer_mean = true;
    } else if (to.name == "snapkv") {
        read_window(to, keys, 32, 5, "avg");
    } else if (to.name == "pyramidkv") {
        read_window(to, keys, 8, 7, "max");
        to.nested = keys.flag("nested");
    } else if (to.name == "treekv" || to.name == "treekv-log") {
        read_tree(to, keys);
    } else if (to.name == "treekv-block") {
        read_blocks(to, keys);
    } else if (to.name == "lacache") {
        read_ladder(to, keys, layers);
    } else if (to.name == "hbw-kv") {
        read_hierarchy(to, keys);
    } else if (to.name == "refreekv") {
        read_threshold(to, keys);
    } else if (to.name == "cake") {
        read_window(to, keys, 32, 5, "avg");
        to.moments = true;
        to.score = "spread";
        to.gamma = keys.real("gamma", 200);
        to.tau1 = keys.real("tau1", 1);
        to.tau2 = keys.real("tau2", 1);
    } else if (to.name == "adakv") {
        read_window(to, keys, 32, 7, "max");
    } else if (to.name == "chunkkv") {
        read_window(to, keys, 32, 1, "none");
        to.block = keys.whole("block", 10);
        to.rounds = {1};
        to.sums_blocks = keys.text("score", "mean") == "sum";
    } else if (to.name == "knorm") {
        to.s = keys.whole("sinks", 0);
        to.w = keys.whole("recent", 0);
        to.window = ReferenceSettings::all_queries;
        to.key_norms = true;
        to.score = "low";
    } else if (to.name == "keydiff") {
        to.s = keys.whole("sinks", 0);
        to.w = keys.whole("recent", 0);
        to.window = 1;
        to.key_similarities = true;
        to.score = "low";
    } else if (to.name == "quest" || to.name == "twilight") {
        to.page = keys.whole("page", 16);
        to.skip_layers = keys.whole("skip_layers", 2);
        to.p = keys.real("p", 0.85);
    } else if (to.name == "twilight-evict") {
        read_window(to, keys, 32, 1, "none");
        to.p = keys.real("p", 0.85);
    }
}

void read_crossings(ReferenceSettings& to, const Keys& keys)
{
    const std::string own = to.name == "pyramidkv" ? "pyramid" : to.name == "cake" ? "cake" : "uniform";
    to.budgets = keys.text("budget", own);
    if (to.budgets == "pyramid") {
        const std::string allocation = keys.text("allocation", "linear");
        const bool fixed = allocation == "linear" || allocation == "geometric" || allocation == "exponential";
        to.budgets = fixed ? allocation : "observed";
        if (!fixed) to.row_statistic = allocation;
        if (!fixed && to.window == 0) to.window = ReferenceSettings::all_queries;
        to.beta = keys.real("beta", 20);
    }
    if (to.budgets == "auto") {
        to.threshold = keys.real("threshold", 0.01);
        to.mask_sinks = keys.whole("mask_sinks", 4);
        to.norm_of_scores = keys.text("norm", "head") == "scores";
        to.moments = to.moments || !to.norm_of_scores;
    }
    to.shared_by_heads = keys.text("heads", to.name == "adakv" ? "ada" : "uniform") == "ada";
    to.floor = keys.real("floor", 0.2);
}

} // namespace

ReferenceSettings::ReferenceSettings(const engine::PolicySpec& spec, int layers, int budget)
    : name(spec.name), c(budget)
{
    const Keys keys(spec);
    read_schedule(*this, keys.text("schedule", "chunk"));
    read_named(*this, keys, layers);
    read_crossings(*this, keys);
}

int ReferenceSettings::omega(int list) const
{
    if (rows_percent <= 0) return window;
    return std::max(1, static_cast<int>(rows_percent * list / 100 + 1e-9));
}

} // namespace palimpsest::tests
