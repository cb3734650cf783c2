#include "storage/session/session_stream.h"

#include <algorithm>

namespace palimpsest::storage {

std::optional<int64_t> SessionStream::last_message() const
{
    for (auto part = parts_.rbegin(); part != parts_.rend(); ++part)
        if (const StreamMessage* message = message_in(*part); message && message->id) return message->id;
    return std::nullopt;
}

size_t SessionStream::part_of_message(int64_t message) const
{
    const auto found = std::find_if(parts_.begin(), parts_.end(), [&](const StreamPart& part) {
        const StreamMessage* candidate = message_in(part);
        return candidate && candidate->id == message;
    });
    return static_cast<size_t>(found - parts_.begin());
}

uint64_t SessionStream::tokens_before(size_t part) const
{
    return tokens_of(std::span(parts_).first(part));
}

std::vector<int64_t> documents_in(const SessionStream& stream)
{
    std::vector<int64_t> documents;
    for (const StreamPart& part : stream.parts())
        if (const StreamDocument* document = document_in(part))
            if (std::find(documents.begin(), documents.end(), document->id) == documents.end())
                documents.push_back(document->id);
    return documents;
}

} // namespace palimpsest::storage
