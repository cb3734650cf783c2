// config.json of a Hugging Face folder (rules C1..C6) for LlamaForCausalLM, MistralForCausalLM and
// Qwen2ForCausalLM.
#pragma once

#include <string_view>

#include "engine/model/model_config.h"
#include "engine/model/refusal.h"
#include "engine/text/vocabulary.h"

namespace palimpsest::engine {

struct HfConfig {
    ModelConfig model; // without stored_type; qkv_bias as the architecture has it
    TokenId bos = -1, eos = -1;
};

// Unknown keys are ignored; a value that would change what the model computes, and that we do not compute, is
// refused by name. Defaults are those of the transformers library.
HfConfig parse_hf_config(std::string_view text, const Refusal& refuse);

} // namespace palimpsest::engine
