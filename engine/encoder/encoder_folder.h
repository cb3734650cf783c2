// Opens the folder of a sentence encoder: config.json, tokenizer.json, model.safetensors and, if they are there,
// sentence_bert_config.json and 1_Pooling/config.json. Opens no other file. Rules E1 to E5 in docs/validation.md
// say what is checked.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "engine/encoder/bert_config.h"
#include "engine/encoder/bert_tensors.h"
#include "engine/encoder/word_piece.h"

namespace palimpsest::engine {

struct EncoderFolder {
    BertConfig config;
    WordPieceVocabulary vocabulary;
    BertTensors tensors;
    int32_t max_tokens = 0; // of a text, special ones included
    // 32 hex digits: XXH3-128 over the folder's files; of model.safetensors, its header and both ends of every
    // tensor.
    std::string identity;
};

// Throws Error: NotFound, or Failed with PAL-MODEL-nn, where nn is the first rule that fails. Cost: reads the files
// but for the tensors, some 10 ms.
EncoderFolder open_encoder_folder(const std::filesystem::path& folder);

} // namespace palimpsest::engine
