// The arithmetic that decides the last bits of results: the same model, tokens and options give the same bits with
// the same arithmetic only.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "engine/model/model.h"

namespace palimpsest::engine {

struct Arithmetic {
    std::string target;          // Backend::simd_target: "AVX3", "sm_90"
    bool in_fixed_point = false; // a CPU multiplies some of the model's weights as integers

    bool operator==(const Arithmetic&) const = default;
    bool is_on_gpu() const { return target.starts_with("sm_"); }
};

Arithmetic arithmetic_of(const Model& model);
Arithmetic arithmetic_named(std::string_view name); // the inverse of name_of; any string names one
std::string name_of(const Arithmetic& arithmetic);  // "AVX3", "AVX3 fixed-point"

// Whether logits of the same tokens, computed with different arithmetic, may come from the same cache: no logit
// differs by more than 1e-3 times the largest absolute logit, or 5e-2 times it between CPU and GPU
// (rule K9 in docs/validation.md). Returns false if a logit is infinite or NaN, or if the spans have different
// lengths.
bool may_be_same_logits(const Arithmetic& one, std::span<const float> logits, const Arithmetic& other,
                        std::span<const float> others);

} // namespace palimpsest::engine
