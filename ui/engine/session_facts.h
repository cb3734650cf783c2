// Session facts: what the window shows of an open session. A value without references to the engine.
#pragma once

#include <QString>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "engine/cache/eviction_events.h"
#include "engine/session/session_options.h"
#include "storage/conversations.h"
#include "storage/library.h"
#include "storage/notes/note.h"
#include "storage/provenance.h"

namespace palimpsest::storage {
struct RetentionReport;
}

namespace palimpsest::ui {

using storage::Provenance, storage::QuotedSentence, storage::StreamRange;

// An answer to a question that waits, from what was read so far of a document.
struct EarlyReply {
    QString text;
    QString quote, place; // the sentence that supports it best, and where it stands; empty: none
    double share = 0;     // of the documents that was read, 0 to 1
};

// How much of the documents a question read again.
struct ReadAgainNote {
    uint64_t tokens = 0;
    double held = 0; // share of it that the cache held before
};

// A question or an answer, as the chat shows it.
struct Turn {
    int64_t message = 0; // 0: not stored yet
    storage::Role role = storage::Role::User;
    storage::MessageState state = storage::MessageState::Complete;
    QString text;
    StreamRange range;                         // in the stream
    std::vector<QString> earlier;              // older answers to the same question, oldest first
    std::optional<ReadAgainNote> read_again{}; // of an answer: what was read again for it; absent: nothing
    std::optional<Provenance> provenance;      // of an answer, if it is known
    bool damaged = false;
};

struct DocumentPart {
    storage::DocumentInfo info;
    StreamRange range;
    std::vector<storage::Section> sections; // token numbers relative to the document
    std::vector<storage::Page> pages{};     // likewise; empty: it has none
    // The stretches that notes are about, in order, relative to the document; null: it has no passages yet.
    std::shared_ptr<const std::vector<storage::Stretch>> stretches{};
};

struct SessionFacts {
    int64_t id = 0; // database id; an unsaved session has a unique negative id
    QString name, model_name, device;
    int32_t layers = 0, kv_heads = 0;
    engine::SessionOptions options; // with defaults resolved
    QString policy;                 // resolved, in the syntax of --policy
    std::vector<DocumentPart> documents;
    std::vector<Turn> turns;
    std::vector<storage::Note> notes{}; // on the documents, in order
    std::vector<storage::Pin> pins;
    uint64_t tokens_in_input = 0, tokens_read = 0; // tokens of documents
    bool saved = true;                             // false: incognito, nothing is written to disk
    // Set while the last turns could not be stored: the reason and the remedy. Those turns are in `turns` and stay
    // there until they are stored.
    struct NotStored {
        QString sentence;
        bool may_try_again = false;
        bool operator==(const NotStored&) const = default;
    };
    std::optional<NotStored> not_stored{};
    // Set if the model is unavailable and only the text is shown: the reason and the remedy. Layers, heads and
    // device are unset then.
    QString text_only{};
    QString system{};       // system prompt; empty: none
    bool has_begun = false; // something was read or asked, so the system prompt is fixed
    // For an export: a report of the session from when these facts were collected. Null if only the text is shown.
    std::shared_ptr<const storage::RetentionReport> report{};
};

} // namespace palimpsest::ui
