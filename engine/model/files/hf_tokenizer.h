#pragma once

#include <memory>
#include <vector>

#include "engine/model/files/hf_config.h"
#include "engine/model/files/mapped_file.h"
#include "engine/text/subwords/vocabulary.h"

namespace palimpsest::engine {

// The tokenizer files of a folder; null: absent.
struct HfTokenizerFiles {
    std::shared_ptr<MappedFile> model;         // tokenizer.model
    std::shared_ptr<MappedFile> config;        // tokenizer_config.json
    std::shared_ptr<MappedFile> chat_template; // chat_template.jinja
    std::shared_ptr<MappedFile> tokenizer_json;
    std::shared_ptr<MappedFile> generation_config; // generation_config.json: the tokens that end an answer
};

// Reads tokenizer.json, which includes added tokens and their kinds, or else tokenizer.model. Special tokens and
// the chat template come from tokenizer_config.json, then from config.json, then from the vocabulary itself. A
// folder without a supported tokenizer gives Kind::None and a warning that says why.
Vocabulary hf_vocabulary(const HfTokenizerFiles& files, const HfConfig& config, std::vector<Text>& warnings);

} // namespace palimpsest::engine
