#include "tests/support/random_model.h"

#include <cmath>
#include <cstring>
#include <fstream>
#include <random>
#include <unistd.h>
#include <vector>

namespace palimpsest::tests {
namespace {

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
    const std::string& bytes() const { return bytes_; }
    uint64_t keys = 0;

private:
    std::string bytes_;
};

struct Tensor {
    std::string name;
    uint64_t cols, rows; // rows 0: a vector
};

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
        tensors.push_back({b + "attn_output.weight", u(s.heads * s.head_dim), u(s.dim)});
        tensors.push_back({b + "ffn_norm.weight", u(s.dim), 0});
        tensors.push_back({b + "ffn_gate.weight", u(s.dim), u(s.ffn)});
        tensors.push_back({b + "ffn_up.weight", u(s.dim), u(s.ffn)});
        tensors.push_back({b + "ffn_down.weight", u(s.ffn), u(s.dim)});
    }
    tensors.push_back({"output_norm.weight", u(s.dim), 0});
    tensors.push_back({"output.weight", u(s.dim), u(s.vocabulary)});
    return tensors;
}

uint64_t padded(uint64_t bytes)
{
    return (bytes + 31) / 32 * 32;
}

} // namespace

std::filesystem::path random_model(const RandomModelShape& s)
{
    const auto u = [](int32_t x) { return static_cast<uint32_t>(x); };
    Bytes meta;
    meta.key_string("general.architecture", "llama");
    meta.key_string("general.name", "random");
    meta.key_u32("llama.context_length", u(s.context));
    meta.key_u32("llama.embedding_length", u(s.dim));
    meta.key_u32("llama.block_count", u(s.layers));
    meta.key_u32("llama.feed_forward_length", u(s.ffn));
    meta.key_u32("llama.attention.head_count", u(s.heads));
    meta.key_u32("llama.attention.head_count_kv", u(s.kv_heads));
    meta.key_u32("llama.attention.key_length", u(s.head_dim));
    meta.key_u32("llama.attention.value_length", u(s.head_dim));
    meta.key_f32("llama.attention.layer_norm_rms_epsilon", 1e-5f);
    meta.key_u32("llama.rope.dimension_count", u(s.head_dim));
    meta.key_f32("llama.rope.freq_base", 10000.0f);
    meta.key_u32("llama.vocab_size", u(s.vocabulary));

    const std::vector<Tensor> tensors = tensors_of(s);
    Bytes table;
    uint64_t offset = 0;
    for (const Tensor& t : tensors) {
        table.string(t.name);
        table.number<uint32_t>(t.rows ? 2 : 1);
        table.number(t.cols);
        if (t.rows) table.number(t.rows);
        table.number<uint32_t>(0); // f32
        table.number(offset);
        offset += padded(t.cols * std::max<uint64_t>(t.rows, 1) * 4);
    }

    Bytes head;
    head.number<uint32_t>(0x46554747);
    head.number<uint32_t>(3);
    head.number<uint64_t>(tensors.size());
    head.number<uint64_t>(meta.keys);

    const auto path =
        std::filesystem::temp_directory_path() /
        ("palimpsest-random-" + std::to_string(getpid()) + "-" + std::to_string(s.layers) + "-" +
         std::to_string(s.dim) + "-" + std::to_string(s.heads) + "-" + std::to_string(s.kv_heads) + "-" +
         std::to_string(s.head_dim) + "-" + std::to_string(s.context) + "-" + std::to_string(s.seed) + ".gguf");
    std::ofstream file(path, std::ios::binary);
    const std::string text = head.bytes() + meta.bytes() + table.bytes();
    file << text << std::string(padded(text.size()) - text.size(), '\0');
    std::mt19937_64 random(s.seed);
    std::normal_distribution<float> normal;
    for (const Tensor& t : tensors) {
        const uint64_t count = t.cols * std::max<uint64_t>(t.rows, 1);
        const float scale = t.rows ? s.weight_scale * 2.0f / std::sqrt(static_cast<float>(t.cols)) : 0.1f;
        std::vector<float> values(count);
        for (float& x : values)
            x = (t.rows ? 0.0f : 1.0f) + scale * normal(random);
        std::string bytes(padded(count * 4), '\0');
        std::memcpy(bytes.data(), values.data(), count * 4);
        file << bytes;
    }
    return path;
}

} // namespace palimpsest::tests
