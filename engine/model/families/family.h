// A family of models: how its files are named, and what its layers are made of.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/model/config_fields.h"
#include "engine/model/model_config.h"

namespace palimpsest::engine {

struct Family {
    std::string_view architecture;         // `general.architecture` of GGUF files
    std::vector<std::string_view> classes; // 'architectures' of config.json
    // Fills in what the sizes and the rotary angles leave open; both were read before.
    void (*describe)(const ConfigFields& fields, ModelConfig& config);
    // The activations that config.json may name; the first is the default. GGUF files name none.
    std::vector<std::string_view> activations = {"silu"};
    // Values of config.json that the library has defaults for and published files leave out.
    std::vector<std::pair<std::string_view, double>> defaults{};
    std::optional<double> default_of(std::string_view key) const;
    // Layer tensors of safetensors files that Llama has not, or has under another name, by their GGUF names.
    std::vector<std::pair<std::string_view, std::string_view>> tensor_names{};
    bool tied = false;                // without 'tie_word_embeddings' in config.json
    bool kv_heads_optional = false;   // config.json may leave out as many as there are query heads
    bool partial_rotary = false;      // config.json may turn only a part of every head
    float rope_base = 10000.0f;       // where a file does not say
    float local_rope_base = 10000.0f; // where a file with local layers does not say
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

// Null for an unknown one.
const Family* family_of_architecture(std::string_view architecture);
const Family* family_of_class(std::string_view name);
std::string known_architectures(); // "llama, qwen2 or qwen3"
std::string known_classes();

// Gives layers the window that the file names, where it hides anything: to those the file lists, else to all but
// every `period`-th one; 0: to all. Those layers take the local rotary angles if `local_rope` is set. A GGUF file
// that names no window has `gguf_window`; with a window of 0 all its layers are global.
void read_windows(const ConfigFields& fields, ModelConfig& config, int32_t period, bool local_rope = false,
                  uint64_t gguf_window = 0);

// A number of the file, which must be in (0, largest]; `otherwise` where it has none.
float positive(const ConfigFields& fields, ConfigKey key, double otherwise, double largest = 1e6);

// How many experts there are and how many a token uses; REQUIRES nothing, leaves `config` alone where there are
// none.
void read_experts(const ConfigFields& fields, ModelConfig& config, ConfigKey count, ConfigKey used);

} // namespace palimpsest::engine
