// The documents of a stored session: reads them into its stream, and goes on with one that was read in part.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "storage/session/device_fallback.h"
#include "storage/session/document_storer.h"
#include "storage/session/pin_requests.h"
#include "storage/session/reading.h"

namespace palimpsest::storage {

class SessionDocuments {
public:
    // The arguments must outlive this object.
    SessionDocuments(SessionContext& context, const SessionFraming& framing, StreamFeeder& feeder,
                     Checkpoints& checkpoints, PinRequests& pin_requests, const DeviceFallback& fallback)
        : context_(context), framing_(framing), feeder_(feeder), checkpoints_(checkpoints),
          pin_requests_(pin_requests), fallback_(fallback)
    {
    }

    void read(Document& document, bool more_follow);                           // as StoredSession::read
    void read_on();                                                            // as StoredSession::read_on
    void read_stored(const std::vector<int64_t>& documents, bool more_follow); // as StoredSession::read_stored

    Coverage coverage() const;
    std::vector<std::string> sources() const;

private:
    void read_with_fallback(const std::function<void()>& read);
    void read_now(Document& document, bool more_follow);
    void read_new(Document& document, bool more_follow);
    void read_stored_now(const std::vector<DocumentInfo>& documents, bool more_follow);
    void save_if_behind();
    void continue_last(bool file_has_changed);
    void finish_going_back();
    std::optional<StreamDocument> add(Document& document, bool more_follow);
    DocumentStorer storer(bool begins_stream) const;
    void discard_if_new();
    void skip(const Document& document, bool more_follow); // it was read before
    bool is_copy(const Document& document, const DocumentInfo& stored) const;
    bool has_content_of(const DocumentInfo& wanted) const;
    bool was_read(const Document& document) const;
    bool is_as_stored(const Document& document, const DocumentInfo& stored) const;

    SessionContext& context_;
    const SessionFraming& framing_;
    StreamFeeder& feeder_;
    Checkpoints& checkpoints_;
    PinRequests& pin_requests_;
    const DeviceFallback& fallback_;
    std::optional<DocumentInfo>
        finished_pipe_; // a piped document that was just read to its end from what was stored
};

} // namespace palimpsest::storage
