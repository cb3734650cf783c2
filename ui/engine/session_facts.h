// An open session as the window shows it: what was read and said, and how it is kept. A finished value.
#pragma once

#include <QString>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/cache/fading.h"
#include "engine/session/session_options.h"
#include "storage/conversations.h"
#include "storage/library.h"

namespace palimpsest::ui {

// A stretch of the stream, half-open, in tokens.
struct StreamRange {
    uint64_t first = 0, last = 0;
    bool operator==(const StreamRange&) const = default;
};

// Contract 8, for one answer: what was read when it was given, and what it rested on.
struct Provenance {
    uint64_t tokens_in_input = 0, tokens_read = 0; // of the documents
    int32_t budget = 0;
    struct Source {
        StreamRange range;
        double weight = 0; // share of the answer's attention to what is kept
        double held = 0;   // of the (layer, KV head, token) triples of the range, when it was given
    };
    std::vector<Source> sources; // the heaviest first
};

struct Turn {
    int64_t message = 0; // 0: it is not stored yet
    storage::Role role = storage::Role::User;
    storage::MessageState state = storage::MessageState::Complete;
    QString text;
    StreamRange range;                    // in the stream
    std::vector<QString> earlier;         // answers that were regenerated, the oldest first
    std::optional<Provenance> provenance; // of an answer that was given since the session was opened
    bool damaged = false;
};

struct DocumentPart {
    storage::DocumentInfo info;
    StreamRange range;
    std::vector<storage::Section> sections; // token numbers are the document's own
};

struct SessionFacts {
    int64_t id = 0; // of the database; one that is not saved has a number below 0, which no other has
    QString name, model_name, device;
    int32_t layers = 0, kv_heads = 0;
    engine::SessionOptions options; // resolved
    QString policy;                 // resolved, as --policy takes it
    std::vector<DocumentPart> documents;
    std::vector<Turn> turns;
    std::vector<storage::Pin> pins;
    uint64_t tokens_in_input = 0, tokens_read = 0; // of the documents
    bool saved = true;                             // false: incognito, nothing of it is written
    // Why its last turns are not stored, and what to do. They are among the others, and stay until they are.
    struct NotStored {
        QString sentence;
        bool may_try_again = false;
        bool operator==(const NotStored&) const = default;
    };
    std::optional<NotStored> not_stored{};
    // Why there is its text and no more, and what to do: its model is gone. It has no layers, heads and device
    // then.
    QString text_only{};
    QString system{};       // the system prompt; empty: none
    bool has_begun = false; // something was read or said: its system prompt is fixed
};

} // namespace palimpsest::ui
