// config.json of a Hugging Face folder, for the classes that engine/model/families names.
#pragma once

#include <string_view>

#include "engine/model/families/family.h"
#include "engine/model/model_config.h"
#include "engine/model/refusal.h"
#include "engine/text/vocabulary.h"

namespace palimpsest::engine {

struct HfConfig {
    ModelConfig model; // without stored_type; qkv_bias as the architecture has it
    TokenId bos = -1, eos = -1;
    const Family* family = nullptr;
    bool is_part = false; // the text model of one that takes images as well
};

// Unknown keys are ignored; a value that would change what the model computes, and that we do not compute, is
// refused by name. Defaults are those of the transformers library.
HfConfig parse_hf_config(std::string_view text, const Refusal& refuse);

} // namespace palimpsest::engine
