// The parameters that policies with an observation window share: sinks, window, recent, kernel and pooling.
#pragma once

#include <vector>

#include "engine/policy/named/budget_parameters.h"
#include "engine/policy/named/parameters.h"
#include "engine/policy/protect.h"
#include "engine/policy/signals/score.h"
#include "engine/policy/signals/shaping.h"

namespace palimpsest::engine {

struct PoolingDefault {
    Pooling pooling = Pooling::Average;
    int32_t kernel = 5;
};

ParameterInfo sinks_info(const std::string& default_text = "0");
ParameterInfo recent_info(const std::string& default_text);
ParameterInfo window_info(int32_t window);
// Describes the parameters that read_half_ends() reads.
std::vector<ParameterInfo> half_ends_infos();
std::vector<ParameterInfo> window_infos(int32_t window);
void add_pooling_infos(std::vector<ParameterInfo>& infos, PoolingDefault otherwise);

struct WindowFrame {
    int32_t window = 32; // omega >= 1
    ProtectedEnds ends;
    int64_t slots = 0; // >= 1

    Signal mean() const { return {.kind = ScoreKind::Mean, .window = window}; }
    BudgetBasis basis() const { return {.ends = ends, .slots = slots, .window = window}; }
};

// All throw Error (Usage). read_half_ends: by default four sinks, and as many recent tokens as make half of the
// budget with them, as in TreeKV's experiments.
ProtectedEnds read_half_ends(PolicyParameters& parameters, const PolicyContext& context);
WindowFrame read_window(PolicyParameters& parameters, const PolicyContext& context, int32_t window);
Shaping read_pooling(PolicyParameters& parameters, PoolingDefault otherwise);

} // namespace palimpsest::engine
