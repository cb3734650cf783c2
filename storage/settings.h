// Persistent key-value settings.
#pragma once

#include <optional>
#include <string>

#include "storage/database.h"

namespace palimpsest::storage {

class Settings {
public:
    explicit Settings(Database& database) : db_(database) {}

    std::optional<std::string> get(const std::string& key);
    void set(const std::string& key, const std::string& value);
    void remove(const std::string& key); // without effect if it is not set

private:
    Database& db_;
};

} // namespace palimpsest::storage
