// Sessions by name: what was fed to each, in order, and what was said.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/cache/fading.h"
#include "engine/text/vocabulary.h"
#include "kernels/base/error.h"
#include "storage/database.h"
#include "storage/stream_part.h"

namespace palimpsest::storage {

struct SessionInfo {
    int64_t id = 0;
    std::string name{};
    std::string model{}; // fingerprint
    std::string model_name{};
    std::string options{}; // JSON, as the command wrote it
    int64_t created_ms = 0;
    int64_t changed_ms = 0;
};

enum class Role { User = 0, Assistant = 1 };
enum class MessageState { Growing = 0, Complete = 1, Stopped = 2, Cut = 3 };

struct Message {
    int64_t id = 0;
    std::optional<int64_t> parent{};
    Role role = Role::User;
    MessageState state = MessageState::Complete;
    std::string text{};
    std::vector<engine::TokenId> ids{};
    int64_t created_ms = 0;
    bool damaged = false; // text or ids do not match their checksum: to be shown as damaged, never as genuine
};

// A passage that no policy may evict.
struct Pin {
    uint64_t first = 0, last = 0; // stream indices, half-open
    uint64_t since = 0;           // tokens of the stream that were computed when it was set
    std::string label{};
};

class Conversations {
public:
    explicit Conversations(Database& database) : db_(database) {}

    // Throws Error (Usage, PAL-SESSION-02) for a name that is taken, empty, or longer than 200 bytes.
    int64_t create(const SessionInfo& info);
    std::optional<SessionInfo> find(const std::string& name);
    // Throws Error (NotFound, PAL-SESSION-01), with the nearest name there is.
    SessionInfo get(const std::string& name);
    std::vector<SessionInfo> list(); // the last changed first
    void rename(int64_t session, const std::string& name);
    void set_options(int64_t session, const std::string& options); // within a transaction of the caller's
    void touch(int64_t session);
    // For good: pages are overwritten, the log is emptied (Q15). Documents that no other session read go too,
    // and the backups, which hold it; one is made at once of what is left. Returns why there is none, if so.
    std::optional<Error> remove(int64_t session);
    // One that nothing was said or read in: false, and it stays, if that is not so. Backups stay.
    bool discard(int64_t session);
    // A second session with the same stream, messages, pins and fading record. Snapshots are the caller's to share.
    int64_t fork(int64_t session, const std::string& name) { return fork(session, name, std::nullopt); }
    // The same of what came before this message of its stream. Pins that were set later are set there.
    int64_t fork_before(int64_t session, const std::string& name, int64_t message)
    {
        return fork(session, name, message);
    }

    void append(int64_t session, const StreamPart& part);
    std::vector<StreamPart> stream(int64_t session);

    int64_t add_message(int64_t session, const Message& message);
    void update_message(const Message& message); // text, ids, state
    void stop_growing(int64_t session);          // growing messages, left by a crash, become stopped ones
    // By id: a message comes after its parent. Of several with one parent, all but the last were replaced, and are
    // not in the stream.
    std::vector<Message> messages(int64_t session);
    std::optional<Message> message(int64_t id);
    // Another answer in the place of this one, which stays as its sibling. The stream must end with it.
    void replace_in_stream(int64_t session, int64_t message, int64_t with);
    // Takes a message back, with what followed it, out of the stream too.
    void remove_messages_from(int64_t session, int64_t message);

    // Appends the events up to a checkpoint; drop_fading_after forgets those of a future that a resume has undone.
    void append_fading(int64_t session, std::span<const engine::FadeEvent> events, uint64_t tokens_seen);
    void drop_fading_after(int64_t session, uint64_t tokens_seen);
    std::vector<engine::FadeEvent> fading(int64_t session);
    // The same, a stored row at a time (at most 1 MiB), until `each` says false: a long stream's record is
    // gigabytes.
    void each_fading(int64_t session, const std::function<bool(std::span<const engine::FadeEvent>)>& each);

    // In place of those that are there, within a transaction of the caller's or its own. No two begin at one token.
    void set_pins(int64_t session, std::span<const Pin> pins);
    std::vector<Pin> pins(int64_t session); // by `first`

    // Throws Error (Usage, PAL-SESSION-02) as create does.
    void check_name(const std::string& name);
    int64_t insert(const SessionInfo& info); // create, within a transaction of the caller's

private:
    int64_t fork(int64_t session, const std::string& name, std::optional<int64_t> before);

    Database& db_;
};

} // namespace palimpsest::storage
