// Chooses the passages that a session reads again before it answers: those of its documents that the question is
// about, and that its cache holds no longer.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "engine/session/session.h"
#include "kernels/base/text.h"
#include "storage/passage_index.h"
#include "storage/passages/passage_search.h"
#include "storage/session/answer_from.h"
#include "storage/session/framed_turn.h"
#include "storage/session/listener.h"
#include "storage/session/passage_encoder.h"
#include "storage/session/quote.h"
#include "storage/session/session_stream.h"
#include "storage/session/store.h"

namespace palimpsest::storage {

enum class RereadMode : uint8_t {
    Auto,   // what is found and not held well
    Always, // what is found
    Never
};

struct RereadOptions {
    static constexpr uint32_t default_tokens = 512, most_tokens = 2048; // docs/quality.md
    static constexpr double default_rank_seconds = 0; // it gains little with a small model (docs/quality.md)
    RereadMode mode = RereadMode::Auto;
    uint32_t tokens = default_tokens; // of all passages found for a question; at most half of the cache's budget
    double rank_seconds = 0;          // for the model to rank what was found (rank_passages); 0: it does not
    bool needs_room = true;           // in the session; false: what is found is not fed to it
    AnswerFrom answer_from = AnswerFrom::Auto;
};

// The means of finding a question's passages, beside their words.
struct FindingMeans {
    std::string before{};                         // what was asked before; its words count less
    std::optional<QuestionMeaning> meaning{};     // absent: not by meaning
    PassageEncoder* encoder = nullptr;            // reads the sentences of the best passages; null: none
    std::shared_ptr<const engine::Model> model{}; // of the session; null: not ranked by it
    Listener* listener = nullptr;                 // is told what is damaged, and left out; null: nobody
    std::stop_token stop{};                       // ends the ranking; what was found is used as it is

    bool is_by_meaning() const { return meaning && !meaning->embedding.empty(); }
};

// A passage of which at least this share of the (layer, KV head, token) triples is kept is held well.
inline constexpr double held_well = 0.9;

// A passage, or several that follow one another in a section: `index` is that of the first.
struct FoundPassage {
    StoredPassage passage;
    double held = 0; // Session::held of the best copy in the stream of each passage, before it is read again
};

struct Rereading {
    std::vector<FoundPassage> read; // again, in the order of the documents
    std::vector<FoundPassage> held; // found, but held well: not read again
    size_t hits = 0, ranked = 0;    // passages that the search found, and that the model has ranked
    double seconds = 0;             // to find and rank them
    std::string before{};           // what was asked before, which counted
    // An answer from passages alone is written from these of their sentences, and a session reads them again in
    // place of the passages. Empty: the session answers.
    std::vector<Quote> excerpts{};

    bool empty() const { return read.empty() && held.empty(); }
    uint64_t tokens() const; // of what is read again
    // The excerpts, or else the passages: a session reads them again.
    std::vector<FoundPassage> to_session() const;
    // The places and ids of to_session().
    std::vector<QuotedPassage> quoted(Store& store) const;
    // As a message records to_session(). `at`: of each in the message's ids (FramedTurn).
    std::vector<ReadAgain> record(const std::vector<uint64_t>& at) const;
    // "read again: CHAPTER II, tokens 1,200 to 1,399; 200 tokens in all, of which 3 % were held", or "answered from
    // these sentences alone: ..."
    Text sentence(Store& store) const;
    nlohmann::ordered_json json(Store& store) const; // docs/formats.md, Answers and turns
};

// Finds what to read again for a question. `stream`: of the session; only its documents are searched, as far as the
// stream has them. Passages that are damaged, or for which a session that keeps every token has no room, are left
// out.
Rereading plan_rereading(Store& store, const SessionStream& stream, const engine::Session& session,
                         std::string_view question, const RereadOptions& options, const FindingMeans& means);

// The passages that a stored message has read again, whole or some sentences of them.
Rereading read_again_by(const Message& message, Store& store);

// The last two stored messages of the user, for FindingMeans::before; empty if there are none.
std::string asked_before(Store& store, const SessionStream& stream);

// "auto", "always", "never".
std::string_view name_of(RereadMode mode);
std::optional<RereadMode> reread_mode(std::string_view name);

} // namespace palimpsest::storage
