// A loaded model: weights in a backend, tokenizer and template. Immutable after loading; shared by sessions.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/model/config/model_config.h"
#include "engine/model/files/model_files.h"
#include "engine/text/tokenizer.h"
#include "kernels/backend.h"

namespace palimpsest::engine {

// Norms are f32, with ModelConfig::norm_offset added; norms that the family lacks are empty.
struct LayerWeights {
    kernels::Buffer attention_norm;           // [dim]
    std::unique_ptr<kernels::Weight> qkv;     // [(heads + 2 kv_heads) * head_dim, dim]
    kernels::Buffer qkv_bias;                 // f32 [qkv rows], empty for none
    kernels::Buffer query_norm, key_norm;     // [head_dim], or [heads * head_dim] and [kv_heads * head_dim]
    std::unique_ptr<kernels::Weight> output;  // [dim, heads * head_dim]
    kernels::Buffer post_attention_norm;      // [dim]
    kernels::Buffer ffn_norm;                 // [dim]
    std::unique_ptr<kernels::Weight> gate_up; // [2 ffn, dim]; null in layers with experts
    std::unique_ptr<kernels::Weight> down;    // [dim, ffn]; null in layers with experts
    kernels::Buffer post_ffn_norm;            // [dim]
    // Only in layers with experts. `expert_weights` owns what the spans of kernels::ExpertsArgs point to.
    std::unique_ptr<kernels::Weight> router; // [experts, dim]
    std::vector<std::unique_ptr<kernels::Weight>> expert_weights;
    std::vector<const kernels::Weight*> expert_gate_up, expert_down; // [experts]
};

// Model::load calls `progress` and checks `stop` between matrices, on the loading thread.
struct LoadOptions {
    std::function<void(double share)> progress{}; // loaded share of all matrix bytes, ascending to 1
    std::stop_token stop{};
};

class Model {
public:
    // Null if stopped. Throws Error as open_model does, and Error (Resources) if the weights do not fit in the
    // backend.
    static std::shared_ptr<const Model> load(const std::filesystem::path& path,
                                             std::shared_ptr<kernels::Backend> backend,
                                             const LoadOptions& options = {});
    // Like load, without the tokenizer.
    static std::shared_ptr<const Model> load_weights(const std::filesystem::path& path,
                                                     std::shared_ptr<kernels::Backend> backend);
    // Loads the same weights into another backend, from the files that are already open; without the tokenizer.
    static std::shared_ptr<const Model> with_weights_of(const Model& model,
                                                        std::shared_ptr<kernels::Backend> backend);

    const ModelConfig& config() const { return files_.config; }
    const ModelFiles& files() const { return files_; }
    const std::string& fingerprint() const { return files_.fingerprint; }
    const Tokenizer* tokenizer() const { return tokenizer_.get(); } // null: token ids only
    kernels::Backend& backend() const { return *backend_; }
    kernels::HeadShape head_shape() const;

    const kernels::Weight& embedding() const { return *embedding_; }
    const kernels::Weight& output() const { return output_ ? *output_ : *embedding_; }
    std::span<const kernels::HostMatrix> matrices() const { return matrices_; } // as stored in the files
    const float* output_norm() const { return output_norm_.data<float>(); }
    const LayerWeights& layer(int32_t l) const { return layers_[static_cast<size_t>(l)]; }

private:
    class Loading;
    Model(ModelFiles files, std::unique_ptr<Tokenizer> tokenizer, std::shared_ptr<kernels::Backend> backend,
          const LoadOptions& options);
    std::unique_ptr<kernels::Weight> load_matrix(Loading& loading, std::initializer_list<const char*> names,
                                                 const std::string& block = {}, int32_t paired_head_dim = 0);
    kernels::Buffer load_norm(const std::string& name);
    kernels::Buffer load_bias(const std::string& block, int32_t paired_head_dim);
    void load_layer(Loading& loading, int32_t layer);
    void load_feed_forward(Loading& loading, const std::string& block, LayerWeights& weights);

    ModelFiles files_; // keeps alive the mappings that CPU weights point into
    std::shared_ptr<kernels::Backend> backend_;
    std::unique_ptr<Tokenizer> tokenizer_;
    std::vector<kernels::HostMatrix> matrices_;
    std::unique_ptr<kernels::Weight> embedding_, output_; // output_ null: tied to the embedding
    kernels::Buffer output_norm_;
    std::vector<LayerWeights> layers_;
};

} // namespace palimpsest::engine
