#include "storage/message_witnesses.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <vector>

namespace palimpsest::storage {
namespace {

using SessionsOfMessages = std::map<int64_t, int64_t>;

std::optional<int64_t> session_of(const SessionsOfMessages& sessions, int64_t message)
{
    const auto found = sessions.find(message);
    return found == sessions.end() ? std::nullopt : std::optional(found->second);
}

SessionsOfMessages sessions_in(const std::vector<RowSalvage::IndexEntry>& index)
{
    SessionsOfMessages sessions;
    for (const RowSalvage::IndexEntry& entry : index) {
        int64_t session = 0;
        std::from_chars(entry.value.data(), entry.value.data() + entry.value.size(), session);
        sessions.emplace(entry.row, session);
    }
    return sessions;
}

// Leaves out messages that are in several streams.
SessionsOfMessages sessions_in_streams(Database& database)
{
    SessionsOfMessages sessions;
    auto query = database.statement("SELECT message, max(session) FROM stream WHERE message NOT NULL "
                                    "GROUP BY message HAVING min(session) = max(session)");
    while (query.executeStep())
        sessions.emplace(query.getColumn(0).getInt64(), query.getColumn(1).getInt64());
    return sessions;
}

// The sessions that the messages before and after one name.
using SessionsBeside = std::map<int64_t, std::set<int64_t>>;

std::optional<int64_t> confirmed(const std::set<int64_t>& beside, std::optional<int64_t> session)
{
    return session && beside.contains(*session) ? session : std::nullopt;
}

std::optional<int64_t> majority(int64_t own, std::optional<int64_t> first, std::optional<int64_t> second)
{
    if (first && first == second) return first;
    return first == own || second == own ? std::optional(own) : std::nullopt;
}

Role other(Role role)
{
    return role == Role::User ? Role::Assistant : Role::User;
}

// The messages of a session's stream, with 0 where something is missing.
std::vector<int64_t> messages_in_stream(Database& database, int64_t session)
{
    std::vector<int64_t> all;
    auto query = database.statement("SELECT idx, message FROM stream WHERE session = ? ORDER BY idx");
    query.bind(1, session);
    int64_t next = 0;
    while (query.executeStep()) {
        const int64_t index = query.getColumn(0).getInt64();
        if (index != next) all.push_back(0);
        next = index + 1;
        if (!query.getColumn(1).isNull()) all.push_back(query.getColumn(1).getInt64());
    }
    return all;
}

} // namespace

bool is_placeholder(const Message& message)
{
    return message.damaged && message.text.empty() && !message.ids.empty() &&
           std::all_of(message.ids.begin(), message.ids.end(), [](engine::TokenId id) { return id == 0; });
}

std::map<int64_t, uint64_t> settle_sessions(Database& database, const std::vector<RowSalvage::IndexEntry>& index)
{
    struct Row {
        int64_t message, session;
        std::optional<int64_t> parent;
    };
    std::vector<Row> rows;
    SessionsOfMessages own;
    auto query = database.statement("SELECT id, session, parent FROM messages");
    while (query.executeStep()) {
        const SQLite::Column parent = query.getColumn(2);
        rows.push_back({.message = query.getColumn(0).getInt64(),
                        .session = query.getColumn(1).getInt64(),
                        .parent = parent.isNull() ? std::nullopt : std::optional(parent.getInt64())});
        own.emplace(rows.back().message, rows.back().session);
    }
    SessionsBeside beside;
    for (const Row& row : rows)
        if (const auto before = row.parent ? session_of(own, *row.parent) : std::nullopt) {
            beside[row.message].insert(*before);
            beside[*row.parent].insert(row.session);
        }
    const SessionsOfMessages indexed = sessions_in(index), streamed = sessions_in_streams(database);
    std::map<int64_t, uint64_t> deleted;
    auto change = database.statement("UPDATE messages SET session = ? WHERE id = ?");
    auto remove = database.statement("DELETE FROM messages WHERE id = ?");
    for (const Row& row : rows) {
        const auto in_index = session_of(indexed, row.message);
        auto further = session_of(streamed, row.message);
        if (!further) further = confirmed(beside[row.message], in_index);
        if (!further) further = confirmed(beside[row.message], row.session);
        const auto session = majority(row.session, in_index, further);
        if (session == row.session) continue;
        if (session) {
            change.bind(1, *session);
            change.bind(2, row.message);
            change.exec();
            change.reset();
        } else {
            remove.bind(1, row.message);
            remove.exec();
            remove.reset();
            ++deleted[in_index.value_or(row.session)];
        }
    }
    return deleted;
}

std::map<int64_t, Role> impossible_roles(Database& database, int64_t session, std::span<const Message> messages)
{
    std::map<int64_t, Role> known;
    for (const Message& message : messages)
        if (!is_placeholder(message)) known.emplace(message.id, message.role);
    const std::vector<int64_t> stream = messages_in_stream(database, session);
    const auto gap =
        std::find_if(stream.begin(), stream.end(), [&](int64_t message) { return !known.contains(message); });
    const auto in_order = static_cast<size_t>(gap - stream.begin());
    const std::set<int64_t> placed(stream.begin(), gap);
    std::map<int64_t, Role> impossible;
    for (size_t i = 0; i < in_order; ++i) {
        const Role right = i % 2 == 0 ? Role::User : Role::Assistant;
        Role& role = known[stream[i]];
        if (role != right) impossible.emplace(stream[i], right);
        role = right;
    }
    const auto compare = [&](int64_t first, int64_t second) { // two that follow each other
        const auto before = known.find(first), after = known.find(second);
        if (before == known.end() || after == known.end() || before->second != after->second) return;
        if (!placed.contains(first)) impossible.emplace(first, other(before->second));
        impossible.emplace(second, other(after->second));
    };
    for (size_t i = std::max<size_t>(in_order, 1); i < stream.size(); ++i)
        compare(stream[i - 1], stream[i]);
    for (const Message& message : messages)
        if (message.parent && !placed.contains(message.id)) compare(*message.parent, message.id);
    return impossible;
}

} // namespace palimpsest::storage
