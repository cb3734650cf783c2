// What else tells to which session a message belongs and who wrote it: no checksum covers these columns.
#pragma once

#include <cstdint>
#include <map>
#include <span>

#include "storage/conversations.h"
#include "storage/row_salvage.h"

namespace palimpsest::storage {

// An empty message in place of one that is lost, or of another part of a stream, as SalvageCheck makes it.
bool is_placeholder(const Message& message);

// Compares the session that each message names with `index`, what the index of messages by session says, and with
// the stream that the message is in, or, if it is in none, the messages before and after it. Two that agree decide;
// a message without them is deleted. Within a transaction. Returns how many were deleted, by session.
std::map<int64_t, uint64_t> settle_sessions(Database& database, const std::vector<RowSalvage::IndexEntry>& index);

// The messages of a session whose role cannot be right, with the one that they have instead: questions and answers
// take turns, from the beginning of the stream, and behind a gap in it with their neighbours.
std::map<int64_t, Role> impossible_roles(Database& database, int64_t session, std::span<const Message> messages);

} // namespace palimpsest::storage
