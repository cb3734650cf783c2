#include "engine/model/files/shard_index.h"

#include <algorithm>
#include <set>

#include "engine/model/config/limits.h"
#include "engine/model/files/strict_json.h"

namespace palimpsest::engine {
namespace {

bool is_plain_name(const std::string& name)
{
    constexpr std::string_view suffix = ".safetensors";
    const auto allowed = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
               c == '-';
    };
    return name.size() > suffix.size() && name.size() <= 255 && name.ends_with(suffix) &&
           std::all_of(name.begin(), name.end(), allowed);
}

} // namespace

std::map<std::string, std::string> parse_shard_index(std::string_view text, const Refusal& refuse)
{
    const auto root =
        parse_strict_json(text, {limits::json_depth, limits::json_values}, refuse, ErrorCode::ModelS8);
    if (!root.is_object() || !root.contains("weight_map") || !root["weight_map"].is_object())
        refuse.fail(ErrorCode::ModelS8, Text("it has no 'weight_map'"));
    std::map<std::string, std::string> shard_of;
    std::set<std::string> shards;
    for (const auto& [tensor, shard] : root["weight_map"].items()) {
        if (!shard.is_string() || !is_plain_name(shard.get_ref<const std::string&>())) {
            refuse.fail(ErrorCode::ModelS8,
                        Text("the shard of tensor {0}, {1}, is not a plain file name that ends in .safetensors",
                             in_quotes(tensor),
                             in_quotes(shard.is_string() ? shard.get<std::string>() : shard.dump())),
                        Refusal::other_model());
        }
        shard_of.emplace(tensor, shard.get<std::string>());
        shards.insert(shard.get<std::string>());
    }
    if (shard_of.size() > limits::tensors || shards.size() > limits::shards)
        refuse.fail(ErrorCode::ModelS8,
                    Text("it names {0} tensors in {1} shards, the limits are 65536 and 1024", shard_of.size(),
                         shards.size()),
                    Refusal::other_model());
    return shard_of;
}

} // namespace palimpsest::engine
