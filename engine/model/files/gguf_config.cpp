#include "engine/model/files/gguf_config.h"

#include "engine/model/config/limits.h"
#include "engine/model/config/rope_factors.h"
#include "engine/model/families/family.h"
#include "engine/model/files/config_check.h"
#include "kernels/base/convert.h"
#include "kernels/base/printable.h"

namespace palimpsest::engine {
namespace {

constexpr ErrorCode rule = ErrorCode::ModelG12;

class GgufFields final : public ConfigFields {
public:
    GgufFields(const GgufFile& file, std::string_view architecture, const Refusal& refuse)
        : file_(file), prefix_(std::string(architecture) + "."), refuse_(refuse)
    {
    }

    bool is_gguf() const override { return true; }
    std::optional<uint64_t> integer(ConfigKey key) const override
    {
        return key.gguf ? file_.u32_for_all(prefix_ + key.gguf) : std::nullopt;
    }
    std::optional<double> number(ConfigKey key) const override
    {
        return key.gguf ? file_.f32(prefix_ + key.gguf) : std::nullopt;
    }
    std::optional<bool> boolean(ConfigKey key) const override
    {
        return key.gguf ? file_.boolean(prefix_ + key.gguf) : std::nullopt;
    }
    std::vector<uint64_t> integers(ConfigKey) const override { return {}; }
    std::optional<std::vector<bool>> listed_windows(int32_t layers) const override
    {
        const std::string key = prefix_ + "attention.sliding_window_pattern";
        if (!file_.is_array(key)) return std::nullopt;
        return file_.flags(key, static_cast<uint64_t>(layers));
    }
    std::string name(ConfigKey key) const override { return in_quotes(prefix_ + key.gguf); }
    [[noreturn]] void refuse_value(const Text& what) const override
    {
        refuse_.fail(rule, what, Refusal::other_model());
    }
    [[noreturn]] void refuse_unsupported(const Text& what) const override
    {
        refuse_.fail(rule, what, Refusal::other_model());
    }

private:
    const GgufFile& file_;
    std::string prefix_;
    const Refusal& refuse_;
};

class GgufConfigReader {
public:
    GgufConfigReader(const GgufFile& file, const std::map<std::string, FoundTensor>& found, const Refusal& refuse)
        : file_(file), found_(found), refuse_(refuse)
    {
    }

    ModelConfig read()
    {
        const Family& family = read_architecture();
        read_shape();
        c_.context = checked_context(required("context_length"), quoted_key("context_length"), refuse_, rule);
        c_.rms_epsilon = epsilon(family);
        c_.rotary_dim = size("rope.dimension_count", limits::head_dim, static_cast<uint64_t>(c_.head_dim));
        c_.rope.base = rope_base("rope.freq_base", "rope.global.freq_base", family.rope_base);
        c_.local_rope.base = rope_base("rope.freq_base_swa", "rope.local.freq_base", family.local_rope_base);
        read_rope_scaling();
        family.describe(GgufFields(file_, c_.architecture, refuse_), c_);
        check_config(c_, refuse_, {rule, rule});
        return c_;
    }

private:
    std::string key(const std::string& suffix) const { return c_.architecture + "." + suffix; }
    Text quoted_key(const std::string& suffix) const { return Text::verbatim(in_quotes(key(suffix))); }

    const Family& read_architecture()
    {
        const auto architecture = file_.string("general.architecture");
        if (!architecture) refuse_.fail(rule, Text("{0} is missing", "'general.architecture'"));
        const Family* family = family_of_architecture(*architecture);
        if (!family) {
            refuse_.fail(rule, Text("architecture {0} is not supported", in_quotes(*architecture)),
                         Text("use a model of architecture {0}", known_architectures()));
        }
        c_.architecture = *architecture;
        c_.name = printable(file_.string("general.name").value_or(""));
        return *family;
    }

    uint64_t required(const std::string& suffix) const
    {
        const auto number = file_.u32_for_all(key(suffix));
        if (!number) refuse_.fail(rule, Text("{0} is missing", in_quotes(key(suffix))));
        return *number;
    }

    float required_float(const std::string& suffix) const
    {
        const auto number = file_.f32(key(suffix));
        if (!number) refuse_.fail(rule, Text("{0} is missing", in_quotes(key(suffix))));
        return *number;
    }

    float epsilon(const Family& family) const
    {
        const std::string suffix = "attention.layer_norm_rms_epsilon";
        const auto otherwise = family.default_of("rms_norm_eps");
        if (!otherwise) return required_float(suffix);
        return file_.f32(key(suffix)).value_or(static_cast<float>(*otherwise));
    }

    // `other_suffix` is Ollama's name for the same value.
    float rope_base(const char* suffix, const char* other_suffix, float otherwise) const
    {
        const auto base = file_.f32(key(suffix));
        return base ? *base : file_.f32(key(other_suffix)).value_or(otherwise);
    }

    int32_t size(const std::string& suffix, uint64_t limit) const
    {
        return checked_size(required(suffix), limit, quoted_key(suffix), refuse_, rule);
    }

    int32_t size(const std::string& suffix, uint64_t limit, uint64_t otherwise) const
    {
        return checked_size(file_.u32_for_all(key(suffix)).value_or(static_cast<uint32_t>(otherwise)), limit,
                            quoted_key(suffix), refuse_, rule);
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
            refuse_.fail(
                rule, Text("keys have {0} numbers and values {1}, which is not supported", c_.head_dim, value_dim),
                Refusal::other_model());
        }
        c_.vocabulary = vocabulary_rows();
    }

    int32_t vocabulary_rows() const
    {
        const auto at = found_.find("token_embd.weight");
        if (at == found_.end())
            refuse_.fail(ErrorCode::ModelG14, Text("tensor {0} is missing", "'token_embd.weight'"),
                         Text("download the complete model"));
        const auto& shape = at->second.shape; // outermost first
        const uint64_t found = shape.size() < 2 ? 1 : shape[shape.size() - 2];
        const int32_t rows =
            checked_size(found, limits::vocabulary, Text("the size of the vocabulary"), refuse_, rule);
        const auto claimed = file_.u32(key("vocab_size"));
        if (claimed && *claimed != static_cast<uint32_t>(rows)) {
            refuse_.fail(rule, Text("{0} is {1} but the embedding has {2} rows", in_quotes(key("vocab_size")),
                                    *claimed, rows));
        }
        return rows;
    }

    // A factor without a type means linear scaling. The factors of longrope are stored as tensors.
    void read_rope_scaling()
    {
        auto factor = file_.f32(key("rope.scaling.factor"));
        const auto type = file_.string(key("rope.scaling.type"));
        if (!factor) factor = file_.f32(key("rope.scale_linear")); // the older name
        c_.rope.attention_factor = file_.f32(key("rope.scaling.attn_factor")).value_or(1.0f);
        if (const auto tokens = file_.u32(key("rope.scaling.original_context_length")))
            c_.original_context =
                checked_context(*tokens, quoted_key("rope.scaling.original_context_length"), refuse_, rule);
        if (type == "linear" || (!type && factor)) {
            if (!factor) refuse_.fail(rule, Text("{0} is missing", in_quotes(key("rope.scaling.factor"))));
            if (*factor != 1.0f) c_.rope.factors = linear_rope_factors(c_.rotary_dim, static_cast<double>(*factor));
        } else if (type == "yarn") {
            read_yarn();
        } else if (type && type != "none" && type != "longrope") {
            refuse_.fail(rule, Text("rope scaling {0} is not supported", in_quotes(*type)),
                         Text("use a model with none, linear, yarn, longrope or llama3 scaling"));
        }
    }

    void read_yarn()
    {
        if (file_.f32(key("rope.scaling.yarn_log_multiplier")).value_or(0.0f) != 0.0f)
            refuse_.fail(rule, Text("{0} is not supported", in_quotes(key("rope.scaling.yarn_log_multiplier"))),
                         Refusal::other_model());
        const float factor = required_float("rope.scaling.factor");
        YarnScaling scaling;
        scaling.factor = static_cast<double>(factor);
        scaling.original_context = c_.original_context > 0 ? c_.original_context : c_.context;
        scaling.beta_fast = beta("rope.scaling.yarn_beta_fast", 32.0f);
        scaling.beta_slow = beta("rope.scaling.yarn_beta_slow", 1.0f);
        if (!(factor > 0.0f && factor <= 1e6f) ||
            !(c_.rope.base > 1.0f && is_rope_base(static_cast<double>(c_.rope.base))))
            refuse_.fail(rule, Text("yarn scaling by {0} of the rope base {1} is not possible",
                                    std::to_string(factor), std::to_string(c_.rope.base)));
        c_.rope.factors = yarn_rope_factors(c_.rotary_dim, static_cast<double>(c_.rope.base), scaling);
        // Converters store the 'attention_factor' of config.json here; it replaces the computed factor.
        c_.rope.attention_factor *= file_.f32(key("rope.scaling.yarn_attn_factor"))
                                        .value_or(static_cast<float>(yarn_attention_factor(scaling.factor)));
    }

    double beta(const std::string& suffix, float otherwise) const
    {
        const float value = file_.f32(key(suffix)).value_or(otherwise);
        if (!(value > 0.0f && value <= 1e6f))
            refuse_.fail(rule, Text("{0} is not a number in (0, 1e6]", in_quotes(key(suffix))));
        return static_cast<double>(value);
    }

    const GgufFile& file_;
    const std::map<std::string, FoundTensor>& found_;
    const Refusal& refuse_;
    ModelConfig c_;
};

} // namespace

ModelConfig read_gguf_config(const GgufFile& file, const std::map<std::string, FoundTensor>& found,
                             const Refusal& refuse)
{
    return GgufConfigReader(file, found, refuse).read();
}

namespace {

std::vector<float> take_factors(std::map<std::string, FoundTensor>& found, const char* name, int32_t rotary_dim,
                                const Refusal& refuse)
{
    const auto at = found.find(name);
    if (at == found.end()) return {};
    const auto count = static_cast<uint64_t>(rotary_dim / 2);
    const HostTensor& tensor = at->second.tensor;
    if (at->second.shape != std::vector<uint64_t>{count} || tensor.type != kernels::DType::F32)
        refuse.fail(ErrorCode::ModelG14, Text("tensor {0} is not {1} numbers of type f32", in_quotes(name), count));
    std::vector<float> factors(count);
    kernels::to_f32(tensor.type, tensor.data, factors.data(), static_cast<int64_t>(count));
    found.erase(at);
    return factors;
}

} // namespace

void read_rope_tensors(std::map<std::string, FoundTensor>& found, ModelConfig& config, const Refusal& refuse)
{
    auto freqs = take_factors(found, "rope_freqs.weight", config.rotary_dim, refuse); // of llama3 scaling
    auto short_factors = take_factors(found, "rope_factors_short.weight", config.rotary_dim, refuse);
    auto long_factors = take_factors(found, "rope_factors_long.weight", config.rotary_dim, refuse);
    if (short_factors.empty() != long_factors.empty())
        refuse.fail(ErrorCode::ModelG14,
                    Text("tensor {0} is missing",
                         short_factors.empty() ? "'rope_factors_short.weight'" : "'rope_factors_long.weight'"),
                    Text("download the complete model"));
    const char* tensor = !freqs.empty() ? "rope_freqs.weight" : "rope_factors_long.weight";
    if (!freqs.empty() || !short_factors.empty()) {
        if (!config.rope.factors.empty() || (!freqs.empty() && !short_factors.empty()))
            refuse.fail(rule, Text("it has two rope scalings, one of them in tensor {0}", in_quotes(tensor)),
                        Refusal::other_model());
        config.rope.factors = freqs.empty() ? std::move(short_factors) : std::move(freqs);
        config.rope.long_factors = std::move(long_factors);
        if (config.original_context == 0) config.original_context = config.context;
    }
    check_config(config, refuse, {rule, rule});
}

} // namespace palimpsest::engine
