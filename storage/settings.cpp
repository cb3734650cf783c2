#include "storage/settings.h"

namespace palimpsest::storage {

std::optional<std::string> Settings::get(const std::string& key)
{
    return db_.guarded([&]() -> std::optional<std::string> {
        auto query = db_.statement("SELECT value FROM settings WHERE key = ?");
        query.bind(1, key);
        if (!query.executeStep()) return std::nullopt;
        return query.getColumn(0).getString();
    });
}

void Settings::set(const std::string& key, const std::string& value)
{
    db_.in_transaction([&] {
        auto put = db_.statement("INSERT INTO settings(key, value) VALUES(?, ?) "
                                 "ON CONFLICT(key) DO UPDATE SET value = excluded.value");
        put.bind(1, key);
        put.bind(2, value);
        put.exec();
    });
}

void Settings::remove(const std::string& key)
{
    db_.in_transaction([&] {
        auto removed = db_.statement("DELETE FROM settings WHERE key = ?");
        removed.bind(1, key);
        removed.exec();
    });
}

} // namespace palimpsest::storage
