#include "tests/support/random_model.h"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <random>
#include <stdexcept>
#include <unistd.h>
#include <vector>

#include "kernels/base/convert.h"

namespace palimpsest::tests {
namespace {

using kernels::DType;
using kernels::row_bytes;

class Bytes {
public:
    template<class T>
    void number(T value)
    {
        const auto* p = reinterpret_cast<const char*>(&value);
        bytes_.append(p, sizeof value);
    }
    void string(const std::string& text)
    {
        number<uint64_t>(text.size());
        bytes_ += text;
    }
    void key_u32(const std::string& key, uint32_t value)
    {
        string(key);
        number<uint32_t>(4);
        number(value);
        ++keys;
    }
    void key_f32(const std::string& key, float value)
    {
        string(key);
        number<uint32_t>(6);
        number(value);
        ++keys;
    }
    void key_string(const std::string& key, const std::string& value)
    {
        string(key);
        number<uint32_t>(8);
        string(value);
        ++keys;
    }
    // `type`: GGUF's number of the element type. Calls `write` once per element to append it.
    template<class Write>
    void key_array(const std::string& key, uint32_t type, int32_t count, Write&& write)
    {
        string(key);
        number<uint32_t>(9);
        number(type);
        number(static_cast<uint64_t>(count));
        for (int32_t i = 0; i < count; ++i)
            write(i);
        ++keys;
    }
    const std::string& bytes() const { return bytes_; }
    uint64_t keys = 0;

private:
    std::string bytes_;
};

struct Tensor {
    std::string name;
    uint64_t cols, rows; // rows == 0: a vector
};

constexpr const char *short_factors = "rope_factors_short.weight", *long_factors = "rope_factors_long.weight";

// GGUF's number of the type.
uint32_t gguf_type(DType type)
{
    if (type == DType::F16) return 1;
    if (type == DType::Q4_0) return 2;
    if (type == DType::Q5_0) return 6;
    if (type == DType::Q8_0) return 8;
    return type == DType::BF16 ? 30 : 0;
}

std::vector<Tensor> tensors_of(const RandomModelShape& s)
{
    const auto u = [](int32_t x) { return static_cast<uint64_t>(x); };
    std::vector<Tensor> tensors = {{"token_embd.weight", u(s.dim), u(s.vocabulary)}};
    for (int32_t l = 0; l < s.layers; ++l) {
        const std::string b = "blk." + std::to_string(l) + ".";
        tensors.push_back({b + "attn_norm.weight", u(s.dim), 0});
        tensors.push_back({b + "attn_q.weight", u(s.dim), u(s.heads * s.head_dim)});
        tensors.push_back({b + "attn_k.weight", u(s.dim), u(s.kv_heads * s.head_dim)});
        tensors.push_back({b + "attn_v.weight", u(s.dim), u(s.kv_heads * s.head_dim)});
        if (s.architecture == "qwen3" || s.architecture == "gemma3") {
            tensors.push_back({b + "attn_q_norm.weight", u(s.head_dim), 0});
            tensors.push_back({b + "attn_k_norm.weight", u(s.head_dim), 0});
        }
        tensors.push_back({b + "attn_output.weight", u(s.heads * s.head_dim), u(s.dim)});
        if (s.architecture.starts_with("gemma")) {
            tensors.push_back({b + "post_attention_norm.weight", u(s.dim), 0});
            tensors.push_back({b + "post_ffw_norm.weight", u(s.dim), 0});
        }
        tensors.push_back({b + "ffn_norm.weight", u(s.dim), 0});
        tensors.push_back({b + "ffn_gate.weight", u(s.dim), u(s.ffn)});
        tensors.push_back({b + "ffn_up.weight", u(s.dim), u(s.ffn)});
        tensors.push_back({b + "ffn_down.weight", u(s.ffn), u(s.dim)});
    }
    tensors.push_back({"output_norm.weight", u(s.dim), 0});
    if (!s.tied) tensors.push_back({"output.weight", u(s.dim), u(s.vocabulary)});
    if (s.original_context > 0)
        for (const char* name : {short_factors, long_factors})
            tensors.push_back({name, u(s.head_dim / 2), 0});
    return tensors;
}

uint64_t padded(uint64_t bytes)
{
    return (bytes + 31) / 32 * 32;
}

DType type_of(const Tensor& t, const RandomModelShape& s)
{
    return t.rows ? s.type : DType::F32; // norms
}

uint64_t bytes_of(const Tensor& t, const RandomModelShape& s)
{
    const int64_t row = row_bytes(type_of(t, s), static_cast<int64_t>(t.cols));
    return static_cast<uint64_t>(row) * std::max<uint64_t>(t.rows, 1);
}

// <unk>, <s>, </s>, every byte, and filler pieces up to the vocabulary size.
void add_tokenizer(Bytes& meta, int32_t vocabulary)
{
    constexpr int32_t bytes_begin = 3, bytes_end = bytes_begin + 256;
    const auto piece = [](int32_t i) -> std::string {
        if (i < bytes_begin) return i == 0 ? "<unk>" : i == 1 ? "<s>" : "</s>";
        char text[16];
        std::snprintf(text, sizeof text, i < bytes_end ? "<0x%02X>" : "unused%u",
                      static_cast<unsigned>(i - bytes_begin));
        return text;
    };
    const auto kind = [](int32_t i) { return i == 0 ? 2 : i < bytes_begin ? 3 : i < bytes_end ? 6 : 1; };
    meta.key_string("tokenizer.ggml.model", "llama");
    meta.key_array("tokenizer.ggml.tokens", 8, vocabulary, [&](int32_t i) { meta.string(piece(i)); });
    meta.key_array("tokenizer.ggml.scores", 6, vocabulary, [&](int32_t) { meta.number(-1.0f); });
    meta.key_array("tokenizer.ggml.token_type", 5, vocabulary, [&](int32_t i) { meta.number<int32_t>(kind(i)); });
    meta.key_u32("tokenizer.ggml.bos_token_id", 1);
    meta.key_u32("tokenizer.ggml.eos_token_id", 2);
}

Bytes keys_of(const RandomModelShape& s)
{
    const auto u = [](int32_t x) { return static_cast<uint32_t>(x); };
    const std::string prefix = s.architecture + ".";
    Bytes meta;
    meta.key_string("general.architecture", s.architecture);
    meta.key_string("general.name", "random");
    meta.key_u32(prefix + "context_length", u(s.context));
    meta.key_u32(prefix + "embedding_length", u(s.dim));
    meta.key_u32(prefix + "block_count", u(s.layers));
    meta.key_u32(prefix + "feed_forward_length", u(s.ffn));
    meta.key_u32(prefix + "attention.head_count", u(s.heads));
    meta.key_u32(prefix + "attention.head_count_kv", u(s.kv_heads));
    meta.key_u32(prefix + "attention.key_length", u(s.head_dim));
    meta.key_u32(prefix + "attention.value_length", u(s.head_dim));
    meta.key_f32(prefix + "attention.layer_norm_rms_epsilon", 1e-5f);
    meta.key_u32(prefix + "rope.dimension_count", u(s.head_dim));
    meta.key_f32(prefix + "rope.freq_base", 10000.0f);
    meta.key_u32(prefix + "vocab_size", u(s.vocabulary));
    if (s.window > 0) {
        meta.key_u32(prefix + "attention.sliding_window", u(s.window));
        if (s.architecture == "gemma3") meta.key_u32(prefix + "attention.sliding_window_pattern", 2);
    }
    if (s.original_context > 0) {
        meta.key_string(prefix + "rope.scaling.type", "longrope");
        meta.key_u32(prefix + "rope.scaling.original_context_length", u(s.original_context));
    }
    if (s.architecture == "gemma2") {
        meta.key_f32(prefix + "attn_logit_softcapping", 5.0f);
        meta.key_f32(prefix + "final_logit_softcapping", 10.0f);
    }
    if (s.has_tokenizer) add_tokenizer(meta, s.vocabulary);
    return meta;
}

std::string header_of(const RandomModelShape& s, const std::vector<Tensor>& tensors)
{
    Bytes table;
    uint64_t offset = 0;
    for (const Tensor& t : tensors) {
        table.string(t.name);
        table.number<uint32_t>(t.rows ? 2 : 1);
        table.number(t.cols);
        if (t.rows) table.number(t.rows);
        table.number<uint32_t>(gguf_type(type_of(t, s)));
        table.number(offset);
        offset += padded(bytes_of(t, s));
    }
    const Bytes meta = keys_of(s);
    Bytes head;
    head.number<uint32_t>(0x46554747);
    head.number<uint32_t>(3);
    head.number<uint64_t>(tensors.size());
    head.number<uint64_t>(meta.keys);
    std::string text = head.bytes() + meta.bytes() + table.bytes();
    text.resize(padded(text.size()), '\0');
    return text;
}

float deviation(const Tensor& t, const RandomModelShape& s)
{
    return s.weight_scale * 2.0f / std::sqrt(static_cast<float>(t.cols));
}

// Draws every value separately.
class DrawnValues {
public:
    explicit DrawnValues(const RandomModelShape& shape) : shape_(shape), random_(shape.seed) {}
    void write(std::ofstream& file, const Tensor& t)
    {
        const float scale = t.rows ? deviation(t, shape_) : 0.1f;
        const float mean = t.rows ? 0.0f : t.name == long_factors ? 4.0f : 1.0f;
        std::vector<float> values(t.cols * std::max<uint64_t>(t.rows, 1));
        for (float& x : values)
            x = mean + scale * normal_(random_);
        file.write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size() * 4));
    }

private:
    const RandomModelShape& shape_;
    std::mt19937_64 random_;
    std::normal_distribution<float> normal_;
};

// Takes the rows of a matrix from a pool of a few megabytes, in order, starting at a random position.
class PooledValues {
public:
    explicit PooledValues(const RandomModelShape& shape) : shape_(shape), random_(shape.seed) {}
    void write(std::ofstream& file, const Tensor& t)
    {
        const std::string& pool = pool_of(t);
        const uint64_t block = static_cast<uint64_t>(row_bytes(shape_.type, 32)); // of 32 elements, for every type
        uint64_t at = random_() % (pool.size() / block) * block;
        for (uint64_t left = bytes_of(t, shape_); left > 0; at = 0) {
            const uint64_t count = std::min<uint64_t>(left, pool.size() - at);
            file.write(pool.data() + at, static_cast<std::streamsize>(count));
            left -= count;
        }
    }

private:
    // One pool per row width, because the standard deviation of the values depends on the width.
    const std::string& pool_of(const Tensor& t)
    {
        std::string& pool = pools_[t.cols];
        if (!pool.empty()) return pool;
        constexpr int64_t blocks = 65521; // prime, so that no row length divides the pool
        constexpr int64_t count = 32 * blocks;
        pool.resize(static_cast<size_t>(row_bytes(shape_.type, count)));
        if (shape_.type == DType::Q8_0)
            fill_blocks(pool, deviation(t, shape_));
        else if (shape_.type == DType::Q4_0)
            // 4.61: the deviation of a uniform number in [0, 15]
            fill_small_blocks(pool, deviation(t, shape_) / 4.61f);
        else if (shape_.type == DType::Q5_0)
            fill_small_blocks(pool, deviation(t, shape_) / 9.23f); // 9.23: likewise for [0, 31]
        else
            fill_values(pool, count, deviation(t, shape_));
        return pool;
    }
    void fill_values(std::string& pool, int64_t count, float scale)
    {
        std::normal_distribution<float> normal(0.0f, scale);
        std::vector<float> values(static_cast<size_t>(count));
        for (float& x : values)
            x = normal(random_);
        kernels::from_f32(shape_.type, values.data(), reinterpret_cast<std::byte*>(pool.data()), count);
    }
    void fill_blocks(std::string& pool, float scale)
    {
        constexpr float deviation_of_bytes = 73.3f; // uniform in [-127, 127]
        for (size_t at = 0; at < pool.size(); at += sizeof(kernels::BlockQ8_0)) {
            kernels::BlockQ8_0 block;
            const float u = 0.8f + 0.4f * static_cast<float>(random_() % 1000) / 1000.0f;
            block.scale = kernels::f32_to_f16(scale / deviation_of_bytes * u);
            for (int8_t& q : block.q)
                q = static_cast<int8_t>(static_cast<int>(random_() % 255) - 127);
            std::memcpy(pool.data() + at, &block, sizeof block);
        }
    }

    // Fills the pool with blocks of an f16 scale and 32 numbers of a few bits.
    void fill_small_blocks(std::string& pool, float scale)
    {
        for (char& byte : pool)
            byte = static_cast<char>(random_() % 256);
        for (size_t at = 0; at < pool.size(); at += static_cast<size_t>(row_bytes(shape_.type, 32))) {
            const float u = 0.8f + 0.4f * static_cast<float>(random_() % 1000) / 1000.0f;
            const uint16_t stored = kernels::f32_to_f16(scale * u);
            std::memcpy(pool.data() + at, &stored, sizeof stored);
        }
    }

    const RandomModelShape& shape_;
    std::mt19937_64 random_;
    std::map<uint64_t, std::string> pools_;
};

} // namespace

std::vector<RandomModelShape> shapes_of_families(int32_t context)
{
    RandomModelShape shape{.context = context};
    std::vector<RandomModelShape> shapes = {shape};
    shape.architecture = "gemma2";
    shape.window = 40;
    shape.layers = 6; // three of them global
    shapes.push_back(shape);
    shape.architecture = "gemma3";
    shape.window = 100;
    shape.head_dim = 16;
    shapes.push_back(shape);
    shapes.push_back({.context = context, .architecture = "qwen3"});
    shapes.push_back({.context = context, .type = kernels::DType::Q4_0});
    return shapes;
}

void write_random_model(const RandomModelShape& s, const std::filesystem::path& path)
{
    std::ofstream file(path, std::ios::binary);
    const std::vector<Tensor> tensors = tensors_of(s);
    file << header_of(s, tensors);
    DrawnValues drawn(s);
    PooledValues pooled(s);
    for (const Tensor& t : tensors) {
        if (type_of(t, s) == DType::F32)
            drawn.write(file, t);
        else
            pooled.write(file, t);
        const uint64_t bytes = bytes_of(t, s);
        file << std::string(padded(bytes) - bytes, '\0');
    }
    file.flush();
    if (!file) throw std::runtime_error("cannot write " + path.string());
}

std::filesystem::path random_model(const RandomModelShape& s)
{
    auto path =
        std::filesystem::temp_directory_path() /
        ("palimpsest-random-" + std::to_string(getpid()) + "-" + std::to_string(s.layers) + "-" +
         std::to_string(s.dim) + "-" + std::to_string(s.heads) + "-" + std::to_string(s.kv_heads) + "-" +
         std::to_string(s.head_dim) + "-" + std::to_string(s.context) + "-" + std::to_string(s.seed) + "-" +
         s.architecture + "-" + std::to_string(s.window) + "-" + std::to_string(s.original_context) + ".gguf");
    write_random_model(s, path);
    return path;
}

} // namespace palimpsest::tests
