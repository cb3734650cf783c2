#include "storage/note_rows.h"

#include <array>
#include <utility>
#include <vector>

#include "storage/hash.h"

namespace palimpsest::storage {
namespace {

// Document and first token, which name a row of the session.
std::vector<std::pair<int64_t, int64_t>> damaged_notes(Database& database, int64_t session)
{
    return database.guarded([&] {
        std::vector<std::pair<int64_t, int64_t>> damaged;
        auto query = database.statement("SELECT document, first_token, end_token, first_byte, end_byte, section, "
                                        "origin, repeats, text, refused, hash FROM notes WHERE session = ?");
        query.bind(1, session);
        while (query.executeStep()) {
            std::array<uint64_t, 7> numbers{};
            for (size_t i = 0; i < numbers.size(); ++i)
                numbers[i] = static_cast<uint64_t>(query.getColumn(static_cast<int>(i) + 1).getInt64());
            const int64_t hash =
                hash_of_note(numbers, query.getColumn(8).getString(), query.getColumn(9).getString());
            if (hash != query.getColumn(10).getInt64())
                damaged.emplace_back(query.getColumn(0).getInt64(), query.getColumn(1).getInt64());
        }
        return damaged;
    });
}

} // namespace

int64_t hash_of_note(std::span<const uint64_t> numbers, const std::string& text, const std::string& refused)
{
    std::string all;
    for (const uint64_t number : numbers)
        all += std::to_string(number) + ' ';
    all += text + '\0' + refused;
    return hash64(std::as_bytes(std::span(all)));
}

size_t count_damaged_notes(Database& database, int64_t session)
{
    return damaged_notes(database, session).size();
}

size_t remove_damaged_notes(Database& database, int64_t session)
{
    const auto damaged = damaged_notes(database, session);
    database.in_transaction([&] {
        for (const auto& [document, first_token] : damaged) {
            auto remove = database.statement("DELETE FROM notes WHERE session = ? AND document = ? AND "
                                             "first_token = ?");
            remove.bind(1, session);
            remove.bind(2, document);
            remove.bind(3, first_token);
            remove.exec();
        }
    });
    return damaged.size();
}

} // namespace palimpsest::storage
