#include "engine/model/files/hf_rope.h"

#include "engine/model/config/limits.h"
#include "engine/model/config/rope_factors.h"
#include "engine/model/files/config_check.h"

namespace palimpsest::engine {
namespace {

using nlohmann::json;

class RopeReader {
public:
    RopeReader(const JsonFields& fields, const Family& family, const Refusal& refuse, ModelConfig& config)
        : fields_(fields), family_(family), refuse_(refuse), c_(config)
    {
    }

    void read()
    {
        const double base = fields_.number("rope_theta").value_or(static_cast<double>(family_.rope_base));
        c_.local_rope.base = static_cast<float>(
            fields_.number("rope_local_base_freq").value_or(static_cast<double>(family_.local_rope_base)));
        c_.rotary_dim = c_.head_dim;
        read_part(fields_);
        const json* parameters = fields_.find("rope_scaling");
        if (!parameters) parameters = fields_.find("rope_parameters"); // transformers 5
        if (!parameters) {
            c_.rope.base = static_cast<float>(base);
            return;
        }
        const JsonFields rope(*parameters, refuse_, ErrorCode::ModelC5);
        const json* global = rope.find("full_attention");
        const json* local = rope.find("sliding_attention");
        c_.rope = read_plan(global ? JsonFields(*global, refuse_, ErrorCode::ModelC5) : rope, base);
        if (local)
            c_.local_rope = read_plan(JsonFields(*local, refuse_, ErrorCode::ModelC5),
                                      static_cast<double>(family_.local_rope_base));
    }

private:
    // Some models rotate only a part of every head: Phi-4 mini three quarters.
    void read_part(const JsonFields& fields)
    {
        const double part = fields.number("partial_rotary_factor").value_or(1.0);
        if (part == 1.0) return;
        if (!family_.partial_rotary)
            refuse_.fail(ErrorCode::ModelC6, Text("{0} is not supported", "'partial_rotary_factor'"),
                         Refusal::other_model());
        if (!(part > 0.0 && part < 1.0))
            refuse_.fail(ErrorCode::ModelC5, Text("'partial_rotary_factor' is not a number in (0, 1]"));
        c_.rotary_dim = static_cast<int32_t>(part * c_.head_dim);
    }

    RopePlan read_plan(const JsonFields& rope, double otherwise)
    {
        RopePlan plan;
        read_part(rope);
        const double base = rope.number("rope_theta").value_or(otherwise);
        plan.base = static_cast<float>(base);
        auto type = rope.string("rope_type");
        if (!type) type = rope.string("type").value_or("default");
        if (*type == "linear") {
            plan.factors = linear_rope_factors(c_.rotary_dim, number(rope, "factor"));
        } else if (*type == "llama3") {
            read_llama3(rope, base, plan);
        } else if (*type == "yarn") {
            read_yarn(rope, base, plan);
        } else if (*type == "longrope" || *type == "su") {
            read_longrope(rope, plan);
        } else if (*type != "default" && *type != "dynamic") {
            // 'dynamic' is accepted: it changes nothing within the trained context, and longer contexts are not
            // supported.
            refuse_.fail(ErrorCode::ModelC6, Text("rope scaling {0} is not supported", in_quotes(*type)),
                         Text("use a model with none, linear, dynamic, yarn, longrope or llama3 scaling"));
        }
        return plan;
    }

    void read_llama3(const JsonFields& rope, double base, RopePlan& plan) const
    {
        const Llama3Scaling scaling = {number(rope, "factor"), number(rope, "low_freq_factor"),
                                       number(rope, "high_freq_factor"),
                                       number(rope, "original_max_position_embeddings", 1e9)};
        if (scaling.low_freq_factor >= scaling.high_freq_factor)
            refuse_.fail(ErrorCode::ModelC5, Text("'low_freq_factor' is not below 'high_freq_factor'"));
        if (is_rope_base(base)) // otherwise check_config refuses it
            plan.factors = llama3_rope_factors(c_.rotary_dim, base, scaling);
    }

    void read_yarn(const JsonFields& rope, double base, RopePlan& plan)
    {
        YarnScaling scaling;
        scaling.original_context = original_context(rope);
        scaling.factor = rope.find("factor") ? number(rope, "factor") : c_.context / scaling.original_context;
        if (rope.find("beta_fast")) scaling.beta_fast = number(rope, "beta_fast");
        if (rope.find("beta_slow")) scaling.beta_slow = number(rope, "beta_slow");
        scaling.truncates = rope.boolean("truncate").value_or(true);
        const double weight = rope.number("mscale").value_or(0.0),
                     all = rope.number("mscale_all_dim").value_or(0.0);
        const bool weighted = weight != 0.0 && all != 0.0;
        const double factor =
            weighted ? yarn_attention_factor(scaling.factor, weight) / yarn_attention_factor(scaling.factor, all)
                     : yarn_attention_factor(scaling.factor);
        plan.attention_factor = static_cast<float>(rope.number("attention_factor").value_or(factor));
        if (!(base > 1.0 && is_rope_base(base)))
            refuse_.fail(ErrorCode::ModelC5,
                         Text("yarn scaling needs a 'rope_theta' in (1, {0}]", rope_base_limit()));
        plan.factors = yarn_rope_factors(c_.rotary_dim, base, scaling);
    }

    void read_longrope(const JsonFields& rope, RopePlan& plan)
    {
        const double original = original_context(rope);
        c_.original_context = static_cast<int32_t>(original);
        plan.factors = list(rope, "short_factor");
        plan.long_factors = list(rope, "long_factor");
        const double factor = rope.find("factor") ? number(rope, "factor") : c_.context / original;
        plan.attention_factor = static_cast<float>(
            rope.number("attention_factor").value_or(longrope_attention_factor(factor, original)));
    }

    // Reads the key from the scaling object, or else from the object that contains it; defaults to the context.
    double original_context(const JsonFields& rope) const
    {
        constexpr const char* key = "original_max_position_embeddings";
        auto tokens = rope.integer(key);
        if (!tokens) tokens = fields_.integer(key);
        return tokens ? checked_context(*tokens, Text::verbatim(in_quotes(key)), refuse_, ErrorCode::ModelC3)
                      : c_.context;
    }

    std::vector<float> list(const JsonFields& rope, const char* key) const
    {
        const json* values = rope.find(key);
        if (!values) refuse_.fail(ErrorCode::ModelC5, Text("rope scaling has no {0}", in_quotes(key)));
        if (!values->is_array() || values->size() != static_cast<size_t>(c_.rotary_dim / 2))
            refuse_.fail(ErrorCode::ModelC5, Text("{0} of rope scaling is not a list of {1} numbers",
                                                  in_quotes(key), c_.rotary_dim / 2));
        std::vector<float> out;
        for (const json& value : *values) {
            if (!value.is_number())
                refuse_.fail(ErrorCode::ModelC5,
                             Text("{0} of rope scaling is not a list of numbers", in_quotes(key)));
            out.push_back(value.get<float>());
        }
        return out;
    }

    double number(const JsonFields& rope, const char* key, double largest = 1e6) const
    {
        const auto value = rope.number(key);
        if (!value) refuse_.fail(ErrorCode::ModelC5, Text("rope scaling has no {0}", in_quotes(key)));
        if (!(*value > 0.0 && *value <= largest))
            refuse_.fail(ErrorCode::ModelC5, Text("{0} of rope scaling is not a number in (0, {1}]", in_quotes(key),
                                                  static_cast<int64_t>(largest)));
        return *value;
    }

    const JsonFields& fields_;
    const Family& family_;
    const Refusal& refuse_;
    ModelConfig& c_;
};

} // namespace

void read_hf_rope(const JsonFields& fields, const Family& family, const Refusal& refuse, ModelConfig& config)
{
    RopeReader(fields, family, refuse, config).read();
}

} // namespace palimpsest::engine
