// The stream of an open session: its parts in order, with those that are not stored yet.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "storage/stream_part.h"

namespace palimpsest::storage {

class SessionStream {
public:
    SessionStream() = default;
    explicit SessionStream(std::vector<StreamPart> parts) : parts_(std::move(parts)) {}

    const std::vector<StreamPart>& parts() const { return parts_; }
    size_t size() const { return parts_.size(); }
    bool empty() const { return parts_.empty(); }
    bool ends_with_document() const { return last_document() != nullptr; }
    const StreamDocument* last_document() const { return parts_.empty() ? nullptr : document_in(parts_.back()); }
    // The id of the newest stored message.
    std::optional<int64_t> last_message() const;
    // The index of the part that holds this message; size() if there is none.
    size_t part_of_message(int64_t message) const;

    uint64_t tokens() const { return tokens_before(parts_.size()); }
    uint64_t tokens_before(size_t part) const; // in all parts before this one

    void append(StreamPart part) { parts_.push_back(std::move(part)); }
    void truncate(size_t parts) { parts_.resize(parts); } // REQUIRES: parts <= size()
    // REQUIRES: the part is a message.
    void set_message_id(size_t part, int64_t id) { std::get<StreamMessage>(parts_[part]).id = id; }
    void set_answer_tokens(uint64_t tokens) { std::get<StreamMessage>(parts_.back()).tokens = tokens; }

private:
    std::vector<StreamPart> parts_;
};

std::vector<int64_t> documents_in(const SessionStream& stream); // each once, oldest first

} // namespace palimpsest::storage
