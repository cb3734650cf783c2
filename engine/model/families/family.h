// A model family: how its files name things, and what its layers consist of.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/model/config/config_fields.h"
#include "engine/model/config/model_config.h"

namespace palimpsest::engine {

struct Family {
    std::string_view architecture;         // `general.architecture` of GGUF files
    std::vector<std::string_view> classes; // 'architectures' of config.json
    // Sets the fields that depend on the family; sizes and rotary angles are set already.
    void (*describe)(const ConfigFields& fields, ModelConfig& config);
    // Activations that config.json may name; the first is the default. GGUF files do not name one.
    std::vector<std::string_view> activations = {"silu"};
    // The transformers library's defaults for keys of config.json that published files omit.
    std::vector<std::pair<std::string_view, double>> defaults{};
    std::optional<double> default_of(std::string_view key) const;
    // Layer tensors in safetensors files that Llama lacks or names differently, with their GGUF names.
    std::vector<std::pair<std::string_view, std::string_view>> tensor_names{};
    bool tied = false;                // default of 'tie_word_embeddings' in config.json
    bool kv_heads_optional = false;   // config.json may omit the number of KV heads: then as many as query heads
    bool partial_rotary = false;      // config.json may request rotating only a part of every head
    float rope_base = 10000.0f;       // if the file does not state one
    float local_rope_base = 10000.0f; // for local layers, if the file does not state one
};

const Family& llama_family();
const Family& mistral_family();
const Family& mixtral_family();
const Family& qwen2_family();
const Family& qwen3_family();
const Family& qwen3moe_family();
const Family& gemma2_family();
const Family& gemma3_family();
const Family& phi3_family();
const Family& olmo2_family();
const Family& granite_family();

// Null if unknown.
const Family* family_of_architecture(std::string_view architecture);
const Family* family_of_class(std::string_view name);
Text known_architectures(); // "llama, qwen2 or qwen3"
Text known_classes();

// Marks local layers: those that the file lists, otherwise all but every `period`-th one (`period` 0: all layers).
// They get the file's window if it is shorter than the context, and the local rotary angles if `local_rope` is set.
// `gguf_window` is the window of a GGUF file that states none; with a window of 0, all layers of a GGUF file are
// global.
void read_windows(const ConfigFields& fields, ModelConfig& config, int32_t period, bool local_rope = false,
                  uint64_t gguf_window = 0);

// A number in (0, largest] from the file; `otherwise` if absent.
float positive(const ConfigFields& fields, ConfigKey key, double otherwise, double largest = 1e6);

// Reads the number of experts, and how many are used per token. Leaves `config` unchanged if there are none.
void read_experts(const ConfigFields& fields, ModelConfig& config, ConfigKey count, ConfigKey used);

} // namespace palimpsest::engine
