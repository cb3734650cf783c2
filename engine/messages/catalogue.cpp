#include "engine/messages/catalogue.h"

#include <nlohmann/json.hpp>

#include "engine/messages/german.h"

namespace palimpsest::engine {

Catalogue::Catalogue(std::string_view json)
{
    const nlohmann::json all = nlohmann::json::parse(json);
    for (const auto& [english, translation] : all.items())
        entries_.emplace(english, translation.get<std::string>());
}

const Catalogue& Catalogue::of(std::string_view language)
{
    static const Catalogue none;
    if (language != "de") return none;
    static const Catalogue german(
        std::string_view(reinterpret_cast<const char*>(german_messages), german_messages_bytes));
    return german;
}

std::string Catalogue::translation(std::string_view english) const
{
    const auto known = entries_.find(english);
    return known == entries_.end() ? std::string(english) : known->second;
}

} // namespace palimpsest::engine
