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
    JsonFields(const nlohmann::json& object, const Refusal& refuse, const char* rule)
        : object_(object), refuse_(refuse), rule_(rule)
    {
        if (!object.is_object()) refuse.fail(rule, "it is not a JSON object");
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
        if (!value->is_number_unsigned()) wrong_type(key, "an integer of 0 or more");
        return value->get<uint64_t>();
    }

    std::optional<double> number(const char* key) const
    {
        const auto* value = find(key);
        if (!value) return std::nullopt;
        if (!value->is_number()) wrong_type(key, "a number");
        return value->get<double>();
    }

    std::optional<bool> boolean(const char* key) const
    {
        const auto* value = find(key);
        if (!value) return std::nullopt;
        if (!value->is_boolean()) wrong_type(key, "true or false");
        return value->get<bool>();
    }

    std::optional<std::string> string(const char* key) const
    {
        const auto* value = find(key);
        if (!value) return std::nullopt;
        if (!value->is_string()) wrong_type(key, "a string");
        return value->get<std::string>();
    }

private:
    [[noreturn]] void wrong_type(const char* key, const char* expected) const
    {
        refuse_.fail(rule_, in_quotes(key) + " is not " + expected);
    }

    const nlohmann::json& object_;
    const Refusal& refuse_;
    const char* rule_;
};

} // namespace palimpsest::engine
