#include "engine/model/gguf_model.h"

#include <algorithm>

#include "engine/model/config_check.h"
#include "engine/model/gguf_file.h"
#include "engine/model/gguf_vocabulary.h"
#include "engine/model/limits.h"
#include "engine/model/model_identity.h"
#include "engine/model/model_tensors.h"
#include "engine/model/rope_factors.h"

namespace palimpsest::engine {
namespace {

// Metadata of one architecture to a ModelConfig (rule G12).
class ConfigReader {
public:
    ConfigReader(const GgufFile& file, const Refusal& refuse) : file_(file), refuse_(refuse) {}

    ModelConfig read()
    {
        read_architecture();
        read_shape();
        refuse_unsupported();
        c_.context = checked_context(required("context_length"), key("context_length"), refuse_, rule);
        c_.rms_epsilon = required_float("attention.layer_norm_rms_epsilon");
        c_.rope_base = file_.f32(key("rope.freq_base")).value_or(10000.0f);
        c_.rotary_dim = size("rope.dimension_count", limits::head_dim, static_cast<uint64_t>(c_.head_dim));
        read_rope_scaling();
        check_config(c_, refuse_, {rule, rule, rule});
        return c_;
    }

private:
    static constexpr const char* rule = "12";

    std::string key(const std::string& suffix) const { return c_.architecture + "." + suffix; }

    void read_architecture()
    {
        const auto architecture = file_.string("general.architecture");
        if (!architecture) refuse_.fail(rule, "'general.architecture' is missing");
        if (*architecture != "llama" && *architecture != "qwen2") {
            refuse_.fail(rule, "architecture " + in_quotes(*architecture) + " is not supported",
                         "use a model of architecture llama or qwen2");
        }
        c_.architecture = *architecture;
        // Llama's converter stores the two halves of a rotary pair side by side; Qwen2's leaves them apart.
        c_.paired_rotary = c_.architecture == "llama";
        c_.name = printable(file_.string("general.name").value_or(""));
    }

    uint64_t required(const std::string& suffix) const
    {
        const auto number = file_.u32(key(suffix));
        if (!number) refuse_.fail(rule, in_quotes(key(suffix)) + " is missing");
        return *number;
    }

    float required_float(const std::string& suffix) const
    {
        const auto number = file_.f32(key(suffix));
        if (!number) refuse_.fail(rule, in_quotes(key(suffix)) + " is missing");
        return *number;
    }

    int32_t size(const std::string& suffix, uint64_t limit) const
    {
        return checked_size(required(suffix), limit, key(suffix), refuse_, rule);
    }

    int32_t size(const std::string& suffix, uint64_t limit, uint64_t otherwise) const
    {
        return checked_size(file_.u32(key(suffix)).value_or(static_cast<uint32_t>(otherwise)), limit, key(suffix),
                            refuse_, rule);
    }

    void read_shape()
    {
        c_.layers = size("block_count", limits::layers);
        c_.dim = size("embedding_length", limits::dim);
        c_.ffn = size("feed_forward_length", limits::ffn);
        c_.heads = size("attention.head_count", limits::heads);
        c_.kv_heads = size("attention.head_count_kv", limits::heads, static_cast<uint64_t>(c_.heads));
        if (file_.has(key("attention.key_length")))
            c_.head_dim = size("attention.key_length", limits::head_dim);
        else
            c_.head_dim = derived_head_dim(c_.dim, c_.heads, refuse_, rule);
        const int32_t value_dim =
            size("attention.value_length", limits::head_dim, static_cast<uint64_t>(c_.head_dim));
        if (value_dim != c_.head_dim) {
            refuse_.fail(rule,
                         "keys have " + std::to_string(c_.head_dim) + " numbers and values " +
                             std::to_string(value_dim) + ", which is not supported",
                         Refusal::other_model);
        }
        c_.vocabulary = vocabulary_rows();
    }

    int32_t vocabulary_rows() const
    {
        const auto& tensors = file_.tensors();
        const auto at = std::find_if(tensors.begin(), tensors.end(),
                                     [](const GgufTensor& t) { return t.name == "token_embd.weight"; });
        if (at == tensors.end())
            refuse_.fail("14", "tensor 'token_embd.weight' is missing", "download the complete model");
        const int32_t rows = checked_size(at->dims[1], limits::vocabulary, "vocabulary", refuse_, rule);
        const auto claimed = file_.u32(key("vocab_size"));
        if (claimed && *claimed != static_cast<uint32_t>(rows)) {
            refuse_.fail(rule, in_quotes(key("vocab_size")) + " is " + std::to_string(*claimed) +
                                   " but the embedding has " + std::to_string(rows) + " rows");
        }
        return rows;
    }

    void refuse_unsupported() const
    {
        if (file_.u32(key("expert_count")).value_or(0) != 0)
            refuse_.fail(rule, "mixtures of experts are not supported", Refusal::other_model);
        const auto window = file_.u32(key("attention.sliding_window"));
        if (window && *window != 0 && *window < required("context_length"))
            refuse_.fail(rule,
                         "sliding-window attention over " + std::to_string(*window) + " tokens is not supported",
                         Refusal::other_model);
    }

    void read_rope_scaling()
    {
        const std::string type(file_.string(key("rope.scaling.type")).value_or("none"));
        const auto legacy = file_.f32(key("rope.scale_linear"));
        if (type == "linear" || (type == "none" && legacy)) {
            const auto factor = file_.f32(key("rope.scaling.factor"));
            if (!factor && !legacy) refuse_.fail(rule, in_quotes(key("rope.scaling.factor")) + " is missing");
            c_.rope_factors = linear_rope_factors(c_.rotary_dim, static_cast<double>(factor ? *factor : *legacy));
        } else if (type != "none") {
            refuse_.fail(rule, "rope scaling " + in_quotes(type) + " is not supported yet",
                         "use a model with none, linear or llama3 scaling");
        }
    }

    const GgufFile& file_;
    const Refusal& refuse_;
    ModelConfig c_;
};

std::map<std::string, FoundTensor> found_tensors(const GgufFile& file, std::span<const std::byte> bytes)
{
    std::map<std::string, FoundTensor> found;
    for (const GgufTensor& tensor : file.tensors()) {
        std::vector<uint64_t> shape(tensor.dims.begin(), tensor.dims.begin() + tensor.rank);
        std::reverse(shape.begin(), shape.end());
        const auto data = bytes.subspan(tensor.offset, tensor.bytes);
        found.emplace(tensor.name, FoundTensor{tensor.name, shape, {tensor.type, 0, 0, data.data(), data.size()}});
    }
    return found;
}

// llama3 scaling comes as a tensor of divisors.
void read_rope_tensor(std::map<std::string, FoundTensor>& found, ModelConfig& config, const Refusal& refuse)
{
    const auto at = found.find("rope_freqs.weight");
    if (at == found.end()) return;
    const auto count = static_cast<uint64_t>(config.rotary_dim / 2);
    const HostTensor& tensor = at->second.tensor;
    if (at->second.shape != std::vector<uint64_t>{count} || tensor.type != kernels::DType::F32)
        refuse.fail("14", "tensor 'rope_freqs.weight' is not " + std::to_string(count) + " numbers of type f32");
    if (!config.rope_factors.empty())
        refuse.fail("12", "it has both linear rope scaling and tensor 'rope_freqs.weight'", Refusal::other_model);
    config.rope_factors.resize(count);
    kernels::to_f32(tensor.type, tensor.data, config.rope_factors.data(), static_cast<int64_t>(count));
    check_config(config, refuse, {"12", "12", "12"});
    found.erase(at);
}

} // namespace

ModelFiles open_gguf(const std::shared_ptr<MappedFile>& file)
{
    const Refusal refuse(file->name());
    const GgufFile gguf = GgufFile::parse(file->bytes(), refuse);
    ModelFiles model;
    model.path = file->name();
    model.format = "GGUF v" + std::to_string(gguf.version());
    model.file_bytes = file->bytes().size();
    model.mappings = {file};
    model.config = ConfigReader(gguf, refuse).read();
    model.vocabulary =
        gguf_vocabulary(gguf, static_cast<uint64_t>(model.config.vocabulary), refuse, model.warnings);

    auto found = found_tensors(gguf, file->bytes());
    model.config.tied_embeddings = !found.contains("output.weight");
    model.config.qkv_bias = model.config.architecture == "qwen2" || found.contains("blk.0.attn_q.bias");
    read_rope_tensor(found, model.config, refuse);
    model.tensors = take_tensors(model.config, std::move(found), refuse, "14", model.warnings);
    model.config.stored_type = model.find("blk.0.attn_q.weight")->type;
    model.parameters = parameter_count(model.config);
    const auto header = file->bytes().first(gguf.header_bytes());
    model.fingerprint = model_fingerprint(model, {header});
    file->check_unchanged();
    return model;
}

} // namespace palimpsest::engine
