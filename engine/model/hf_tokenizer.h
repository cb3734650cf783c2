#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/model/hf_config.h"
#include "engine/model/mapped_file.h"
#include "engine/text/vocabulary.h"

namespace palimpsest::engine {

// The files of a folder that say how text becomes tokens; null: not there.
struct HfTokenizerFiles {
    std::shared_ptr<MappedFile> model;         // tokenizer.model
    std::shared_ptr<MappedFile> config;        // tokenizer_config.json
    std::shared_ptr<MappedFile> chat_template; // chat_template.jinja
    std::shared_ptr<MappedFile> tokenizer_json;
    std::shared_ptr<MappedFile> generation_config; // generation_config.json: the tokens that end an answer
};

// The vocabulary of tokenizer.json, which has added tokens and their kinds, or else of tokenizer.model. Special
// tokens and the chat template come from tokenizer_config.json, then from config.json, then from the vocabulary
// itself. A folder without a tokenizer that this version can use gives Kind::None and a warning that says why.
Vocabulary hf_vocabulary(const HfTokenizerFiles& files, const HfConfig& config, std::vector<std::string>& warnings);

} // namespace palimpsest::engine
