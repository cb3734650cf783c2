// Typed reads of one JSON object (docs/validation.md, C3 and C5): null counts as absent, a wrong type is refused.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "engine/model/files/refusal.h"

namespace palimpsest::engine {

class JsonFields {
public:
    // `object` and `refuse` must outlive this. `rule` is reported for wrong types.
    JsonFields(const nlohmann::json& object, const Refusal& refuse, ErrorCode rule)
        : object_(object), refuse_(refuse), rule_(rule)
    {
        if (!object.is_object()) refuse.fail(rule, Text("it is not a JSON object"));
    }

    const nlohmann::json* find(const char* key) const
    {
        const auto at = object_.find(key);
        return at == object_.end() || at->is_null() ? nullptr : &*at;
    }

    std::optional<uint64_t> integer(const char* key) const
    {
        const auto* value = find(key);
        if (!value) return std::nullopt;
        if (!value->is_number_unsigned())
            refuse_.fail(rule_, Text("{0} is not an integer of 0 or more", in_quotes(key)));
        return value->get<uint64_t>();
    }

    std::optional<double> number(const char* key) const
    {
        const auto* value = find(key);
        if (!value) return std::nullopt;
        if (!value->is_number()) refuse_.fail(rule_, Text("{0} is not a number", in_quotes(key)));
        return value->get<double>();
    }

    std::optional<bool> boolean(const char* key) const
    {
        const auto* value = find(key);
        if (!value) return std::nullopt;
        if (!value->is_boolean()) refuse_.fail(rule_, Text("{0} is not true or false", in_quotes(key)));
        return value->get<bool>();
    }

    std::optional<std::string> string(const char* key) const
    {
        const auto* value = find(key);
        if (!value) return std::nullopt;
        if (!value->is_string()) refuse_.fail(rule_, Text("{0} is not a string", in_quotes(key)));
        return value->get<std::string>();
    }

private:
    const nlohmann::json& object_;
    const Refusal& refuse_;
    ErrorCode rule_;
};

} // namespace palimpsest::engine
