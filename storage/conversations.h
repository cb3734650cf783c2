// Sessions by name: their streams, messages, pins and fade records.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/cache/eviction_events.h"
#include "engine/text/subwords/vocabulary.h"
#include "kernels/base/error.h"
#include "storage/database.h"
#include "storage/stream_part.h"

namespace palimpsest::storage {

inline constexpr size_t max_name_bytes = 200; // of a session

struct SessionInfo {
    int64_t id = 0;
    std::string name{};
    std::string model{}; // fingerprint
    std::string model_name{};
    std::string options{}; // JSON; see SessionSettings
    int64_t created_ms = 0;
    int64_t changed_ms = 0;
};

enum class Role { User = 0, Assistant = 1 };
enum class MessageState { Growing = 0, Complete = 1, Stopped = 2, Cut = 3 };

// A passage of a document that a message reads again.
struct ReadAgain {
    int64_t document = 0;
    uint64_t first_token = 0, end_token = 0; // of the document, half-open
    uint64_t at = 0;                         // index in the message's ids of its first token
    double held = 0;                         // share of its (layer, KV head, token) triples that was still kept

    uint64_t tokens() const { return end_token - first_token; }
};

struct Message {
    int64_t id = 0;
    std::optional<int64_t> parent{};
    Role role = Role::User;
    MessageState state = MessageState::Complete;
    std::string text{};
    std::vector<engine::TokenId> ids{};
    std::vector<ReadAgain> read_again{}; // by `at`
    int64_t created_ms = 0;
    bool damaged = false; // text or ids do not match their checksum; must be shown as damaged
};

// A passage that no policy may evict.
struct Pin {
    uint64_t first = 0, last = 0; // stream indices, half-open
    uint64_t since = 0;           // number of computed stream tokens when the pin was set
    std::string label{};
};

class Conversations {
public:
    explicit Conversations(Database& database) : db_(database) {}

    // Throws Error (Usage, PAL-SESSION-02) if the name is taken, empty, or longer than max_name_bytes.
    int64_t create(const SessionInfo& info);
    std::optional<SessionInfo> find(const std::string& name);
    // Throws Error (NotFound, PAL-SESSION-01), which suggests the nearest existing name.
    SessionInfo get(const std::string& name);
    std::vector<SessionInfo> list(); // most recently changed first
    void rename(int64_t session, const std::string& name);
    void set_options(int64_t session, const std::string& options); // within the caller's transaction
    void touch(int64_t session);
    // Deletes permanently (erase), with the documents that no other session uses and the library does not keep.
    std::optional<Error> remove(int64_t session);
    // Removes a session that was just made from what is kept elsewhere, as an import is or a copy: other than with
    // remove(), its text need not be gone for good, and backups stay. One that was saved since then is kept:
    // another process uses it.
    void take_back(const SessionInfo& session);
    // Deletes a session without stream and messages; otherwise returns false and keeps it. Backups stay.
    bool discard(int64_t session);
    // Creates a session with the same stream, messages with their provenance, pins, notes and fade record. The
    // caller shares the checkpoints.
    int64_t fork(int64_t session, const std::string& name) { return fork(session, name, std::nullopt); }
    // Like fork, but with only the stream before `message`. Pins that were set later count as set at its end.
    int64_t fork_before(int64_t session, const std::string& name, int64_t message)
    {
        return fork(session, name, message);
    }

    void append(int64_t session, const StreamPart& part);
    std::vector<StreamPart> stream(int64_t session);

    int64_t add_message(int64_t session, const Message& message);
    void update_message(const Message& message); // text, ids, state; not read_again
    void stop_growing(int64_t session);          // marks messages that a crash left growing as stopped
    // Ordered by id: a message comes after its parent. Only the last of several messages with the same parent is
    // part of the stream; it replaced the others.
    std::vector<Message> messages(int64_t session);
    std::optional<Message> message(int64_t id);
    // The passages that messages of the stream read again, with `at` as an index of the stream.
    std::vector<ReadAgain> read_again(std::span<const StreamPart> stream);
    // Replaces `message` by `with` in the stream; both stay stored, with the same parent. REQUIRES: the stream ends
    // with `message`.
    void replace_in_stream(int64_t session, int64_t message, int64_t with);
    // Deletes this message and all later ones, also from the stream.
    void remove_messages_from(int64_t session, int64_t message);

    // Appends the events between the last checkpoint and a new one at `tokens_seen` tokens. A session that resumes
    // from an older checkpoint first drops the events after it.
    void append_fade_record(int64_t session, std::span<const engine::EvictionEvent> events, uint64_t tokens_seen);
    void drop_fade_record_after(int64_t session, uint64_t tokens_seen);
    std::vector<engine::EvictionEvent> fade_record(int64_t session);
    // Passes the record to `each` in rows of at most 1 MiB, until `each` returns false: a long stream's record
    // takes gigabytes.
    void each_fade_record_block(int64_t session,
                                const std::function<bool(std::span<const engine::EvictionEvent>)>& each);

    // Replaces all pins, in the caller's transaction or its own. REQUIRES: no two pins begin at the same token.
    void set_pins(int64_t session, std::span<const Pin> pins);
    std::vector<Pin> pins(int64_t session); // ordered by `first`

    // Throws Error (Usage, PAL-SESSION-02) like create.
    void check_name(const std::string& name);
    int64_t insert(const SessionInfo& info); // create, within the caller's transaction

private:
    void remove_rows(int64_t session);
    void add_read_again(int64_t message, const std::vector<ReadAgain>& passages);
    std::map<int64_t, std::vector<ReadAgain>> read_again_by(const std::vector<int64_t>& messages);
    void load_read_again(std::vector<Message>& messages);
    int64_t fork(int64_t session, const std::string& name, std::optional<int64_t> before);

    Database& db_;
};

} // namespace palimpsest::storage
