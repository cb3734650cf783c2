#include "engine/encoder/sentence_settings.h"

#include "engine/model/config/limits.h"
#include "engine/model/files/json_fields.h"
#include "engine/model/files/strict_json.h"

namespace palimpsest::engine {
namespace {

constexpr uint64_t shortest_limit = 3; // tokens: two special ones and one of the text
constexpr const char* length_key = "max_seq_length";

nlohmann::json settings_in(std::string_view text, const Refusal& refuse)
{
    return parse_strict_json(text, {limits::json_depth, limits::json_values}, refuse, ErrorCode::ModelC1);
}

} // namespace

SentenceSettings parse_sentence_settings(std::string_view text, const Refusal& refuse)
{
    const auto root = settings_in(text, refuse);
    const JsonFields fields(root, refuse, ErrorCode::ModelC3);
    SentenceSettings settings;
    if (const auto length = fields.integer(length_key)) {
        if (*length < shortest_limit || *length > limits::context)
            refuse.fail(ErrorCode::ModelC3, Text("{0} is {1}, expected {2} to {3}", in_quotes(length_key), *length,
                                                 shortest_limit, limits::context));
        settings.longest = static_cast<int32_t>(*length);
    }
    settings.lowercases = fields.boolean("do_lower_case").value_or(false);
    return settings;
}

void check_pooling(std::string_view text, const Refusal& refuse)
{
    constexpr std::string_view prefix = "pooling_mode_", mean = "pooling_mode_mean_tokens";
    const auto root = settings_in(text, refuse);
    const JsonFields fields(root, refuse, ErrorCode::ModelC3);
    for (const auto& [key, value] : root.items()) {
        const bool is_mode = key.starts_with(prefix) && value.is_boolean();
        if (is_mode && value.get<bool>() && key != mean)
            refuse.fail(ErrorCode::ModelC6, Text("{0} is not supported", in_quotes(key)), Refusal::other_model());
    }
    if (!fields.boolean(mean.data()).value_or(true))
        refuse.fail(ErrorCode::ModelC6, Text("its pooling is not the mean of all tokens"), Refusal::other_model());
}

} // namespace palimpsest::engine
