// config.json of a Hugging Face folder, for the classes listed in engine/model/families.
#pragma once

#include <string_view>

#include "engine/model/config/model_config.h"
#include "engine/model/families/family.h"
#include "engine/model/files/refusal.h"
#include "engine/text/subwords/vocabulary.h"

namespace palimpsest::engine {

struct HfConfig {
    ModelConfig model; // complete except for stored_type, which depends on the tensors
    TokenId bos = -1, eos = -1;
    const Family* family = nullptr;
    bool is_part = false; // the text model of a multimodal model
};

// Unknown keys are ignored; a value that requests an unsupported computation is refused by name. Defaults are those
// of the transformers library.
HfConfig parse_hf_config(std::string_view text, const Refusal& refuse);

} // namespace palimpsest::engine
