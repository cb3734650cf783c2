#include "engine/encoder/bert_config.h"

#include <cstdio>

#include "engine/model/config/limits.h"
#include "engine/model/files/config_check.h"
#include "engine/model/files/json_fields.h"
#include "engine/model/files/strict_json.h"

namespace palimpsest::engine {
namespace {

class BertConfigReader {
public:
    BertConfigReader(const nlohmann::json& root, const Refusal& refuse)
        : fields_(root, refuse, ErrorCode::ModelC3), refuse_(refuse)
    {
    }

    BertConfig read() const
    {
        refuse_other_types();
        refuse_unsupported();
        BertConfig c;
        c.layers = size("num_hidden_layers", limits::layers);
        c.width = size("hidden_size", limits::dim);
        c.heads = size("num_attention_heads", limits::heads);
        c.ffn = size("intermediate_size", limits::ffn);
        c.vocabulary = size("vocab_size", limits::vocabulary);
        c.positions = positions();
        c.types = size("type_vocab_size", limits::vocabulary);
        derived_head_dim(c.width, c.heads, refuse_, ErrorCode::ModelC4);
        c.epsilon = epsilon();
        return c;
    }

private:
    void refuse_other_types() const
    {
        const auto type = fields_.string("model_type");
        if (!type) refuse_.fail(ErrorCode::ModelC2, Text("{0} is missing", "'model_type'"));
        if (*type != "bert")
            refuse_.fail(ErrorCode::ModelC2,
                         Text("a sentence encoder of type {0} is not supported", in_quotes(*type)),
                         Text("use one of type 'bert', such as all-MiniLM-L6-v2"));
    }

    // Settings that change what is computed.
    void refuse_unsupported() const
    {
        const auto unsupported = [&](const Text& what) {
            refuse_.fail(ErrorCode::ModelC6, what, Refusal::other_model());
        };
        const auto activation = fields_.string("hidden_act").value_or("gelu");
        if (activation != "gelu") unsupported(Text("activation {0} is not supported", in_quotes(activation)));
        const auto positions = fields_.string("position_embedding_type").value_or("absolute");
        if (positions != "absolute")
            unsupported(Text("position embeddings of type {0} are not supported", in_quotes(positions)));
        for (const char* key : {"is_decoder", "add_cross_attention"})
            if (fields_.boolean(key).value_or(false)) unsupported(Text("{0} is not supported", in_quotes(key)));
        if (fields_.find("quantization_config"))
            unsupported(Text("{0} is not supported", in_quotes("quantization_config")));
    }

    int32_t size(const char* key, uint64_t limit) const
    {
        const auto number = fields_.integer(key);
        if (!number) refuse_.fail(ErrorCode::ModelC3, Text("{0} is missing", in_quotes(key)));
        return checked_size(*number, limit, Text::verbatim(in_quotes(key)), refuse_, ErrorCode::ModelC3);
    }

    int32_t positions() const
    {
        constexpr const char* key = "max_position_embeddings";
        constexpr uint64_t fewest = 3; // two special tokens and one of the text
        const auto number = fields_.integer(key);
        if (!number) refuse_.fail(ErrorCode::ModelC3, Text("{0} is missing", in_quotes(key)));
        if (*number < fewest || *number > limits::context)
            refuse_.fail(ErrorCode::ModelC3,
                         Text("{0} is {1}, expected {2} to {3}", in_quotes(key), *number, fewest, limits::context),
                         Refusal::other_model());
        return static_cast<int32_t>(*number);
    }

    float epsilon() const
    {
        const double number = fields_.number("layer_norm_eps").value_or(1e-12); // transformers' default
        if (!(number > 0 && number <= 0.1)) {                                   // so that NaN fails
            char text[32];
            std::snprintf(text, sizeof text, "%g", number);
            refuse_.fail(ErrorCode::ModelC5, Text("{0} is {1}, expected a number in (0, {2}]",
                                                  Text("the norm epsilon"), std::string(text), "0.1"));
        }
        return static_cast<float>(number);
    }

    JsonFields fields_;
    const Refusal& refuse_;
};

} // namespace

BertConfig parse_bert_config(std::string_view text, const Refusal& refuse)
{
    const auto root =
        parse_strict_json(text, {limits::json_depth, limits::json_values}, refuse, ErrorCode::ModelC1);
    return BertConfigReader(root, refuse).read();
}

} // namespace palimpsest::engine
