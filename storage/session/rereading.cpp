#include "storage/session/rereading.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "engine/session/session_options.h"
#include "kernels/base/byte_quantity.h"
#include "kernels/base/error.h"
#include "kernels/base/printable.h"
#include "storage/passages/passage_places.h"
#include "storage/passages/passage_search.h"
#include "storage/session/passage_ranking.h"
#include "storage/session/passage_reading.h"

namespace palimpsest::storage {
namespace {

constexpr size_t most_hits = 64, most_hits_of_a_part = 1024; // of a document that is not read to its end

// Where a stretch of a document stands in the stream.
struct Copy {
    uint64_t first_token = 0, end_token = 0; // of the document
    uint64_t at = 0;                         // stream index of the first token
};

constexpr std::string_view reread_mode_names[] = {"auto", "always", "never"};

using Copies = std::map<int64_t, std::vector<Copy>>; // by document

Copies copies_in(Store& store, const SessionStream& stream)
{
    Copies copies;
    uint64_t begin = 0;
    for (const StreamPart& part : stream.parts()) {
        if (const StreamDocument* document = document_in(part))
            copies[document->id].push_back({.first_token = 0, .end_token = document->tokens, .at = begin});
        begin += tokens_of(part);
    }
    for (const ReadAgain& again : store.conversations.read_again(stream.parts()))
        copies[again.document].push_back(
            {.first_token = again.first_token, .end_token = again.end_token, .at = again.at});
    return copies;
}

bool contains(const Copy& copy, const StoredPassage& passage)
{
    return copy.first_token <= passage.first_token && passage.end_token <= copy.end_token;
}

// Whether the stream has less of a document than its text.
bool is_read_in_part(Store& store, const SessionStream& stream)
{
    return std::any_of(stream.parts().begin(), stream.parts().end(), [&](const StreamPart& part) {
        const StreamDocument* document = document_in(part);
        return document && document->tokens < store.library.get(document->id).tokens;
    });
}

// Leaves out the passages that the stream does not have.
void keep_read(std::vector<PassageHit>& hits, const Copies& copies)
{
    std::erase_if(hits, [&](const PassageHit& hit) {
        const std::vector<Copy>& all = copies.at(hit.passage.document);
        return std::none_of(all.begin(), all.end(), [&](const Copy& copy) { return contains(copy, hit.passage); });
    });
}

double held_of(const StoredPassage& passage, const std::vector<Copy>& copies, const engine::Session& session)
{
    double most = 0;
    for (const Copy& copy : copies) {
        if (!contains(copy, passage)) continue;
        const uint64_t first = copy.at + passage.first_token - copy.first_token;
        most = std::max(
            most, session.held({static_cast<uint32_t>(first), static_cast<uint32_t>(first + passage.tokens())}));
    }
    return most;
}

// Appends a passage, or joins it to the one that it follows.
void append(std::vector<FoundPassage>& passages, const FoundPassage& next)
{
    if (!passages.empty()) {
        StoredPassage& last = passages.back().passage;
        if (last.document == next.passage.document && last.section == next.passage.section &&
            last.end_token == next.passage.first_token) {
            const auto tokens = static_cast<double>(last.tokens()),
                       more = static_cast<double>(next.passage.tokens());
            passages.back().held = (tokens * passages.back().held + more * next.held) / (tokens + more);
            last.end_token = next.passage.end_token;
            last.end_byte = next.passage.end_byte;
            return;
        }
    }
    passages.push_back(next);
}

// Whether text and tokens can be read.
bool is_intact(const StoredPassage& passage, Store& store, Listener* listener)
try {
    PassageIndex(store.database).text(passage);
    store.library.ids(passage.document, passage.first_token, passage.tokens());
    return true;
} catch (const Error& error) {
    if (error.code() != ErrorCode::DamagedDocument) throw;
    if (listener)
        listener->note(Text("a passage of {0} is left out: {1}",
                            printable(store.library.get(passage.document).title), error.text()));
    return false;
}

// Whether the session can take in what is read again and its places, and then a turn.
bool has_room(const engine::Session& session, const Rereading& plan)
try {
    constexpr uint64_t tokens_of_place = 64, tokens_of_turn = 256;
    if (!plan.read.empty())
        session.require_room(
            static_cast<int64_t>(plan.tokens() + plan.read.size() * tokens_of_place + tokens_of_turn));
    return true;
} catch (const Error& error) {
    if (error.code() != ErrorCode::CacheFull && error.code() != ErrorCode::PositionsExhausted) throw;
    return false;
}

uint64_t allowed_tokens(const engine::Session& session, const RereadOptions& options)
{
    const int32_t budget = session.options().budget;
    const uint64_t wanted = std::min(options.tokens, RereadOptions::most_tokens);
    return budget == engine::no_budget ? wanted : std::min(wanted, static_cast<uint64_t>(budget) / 2);
}

bool is_of_several(const std::vector<FoundPassage>& passages)
{
    std::set<int64_t> documents;
    for (const FoundPassage& found : passages)
        documents.insert(found.passage.document);
    return documents.size() > 1;
}

// The share that was held of the passage that an excerpt is of.
double held_of_excerpt(const Rereading& found, const StoredPassage& excerpt)
{
    for (const auto* passages : {&found.read, &found.held})
        for (const auto& [passage, held] : *passages)
            if (passage.document == excerpt.document && passage.first_token <= excerpt.first_token &&
                excerpt.end_token <= passage.end_token)
                return held;
    return 0;
}

nlohmann::ordered_json passages_json(const std::vector<FoundPassage>& passages, PassagePlaces& places)
{
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const auto& [passage, held] : passages) {
        all.push_back(places.json(passage));
        all.back()["held"] = held;
    }
    return all;
}

} // namespace

uint64_t Rereading::tokens() const
{
    uint64_t tokens = 0;
    for (const FoundPassage& found : read)
        tokens += found.passage.tokens();
    return tokens;
}

std::vector<FoundPassage> Rereading::to_session() const
{
    if (excerpts.empty()) return read;
    std::vector<FoundPassage> all;
    all.reserve(excerpts.size());
    for (const Quote& excerpt : excerpts)
        all.push_back({excerpt.place, held_of_excerpt(*this, excerpt.place)});
    return all;
}

std::vector<QuotedPassage> Rereading::quoted(Store& store) const
{
    PassagePlaces places(store.library);
    const std::vector<FoundPassage> all = to_session();
    const bool with_title = is_of_several(all);
    std::vector<QuotedPassage> quoted;
    quoted.reserve(all.size());
    for (const FoundPassage& found : all)
        quoted.push_back(
            {.place = places.name(found.passage, with_title),
             .ids = store.library.ids(found.passage.document, found.passage.first_token, found.passage.tokens())});
    return quoted;
}

std::vector<ReadAgain> Rereading::record(const std::vector<uint64_t>& at) const
{
    const std::vector<FoundPassage> fed = to_session();
    std::vector<ReadAgain> all;
    for (size_t i = 0; i < fed.size(); ++i)
        all.push_back({.document = fed[i].passage.document,
                       .first_token = fed[i].passage.first_token,
                       .end_token = fed[i].passage.end_token,
                       .at = at[i],
                       .held = fed[i].held});
    return all;
}

Text Rereading::sentence(Store& store) const
{
    PassagePlaces places(store.library);
    std::vector<Text> where;
    const std::vector<FoundPassage> passages = to_session();
    const bool with_title = is_of_several(passages);
    double held_tokens = 0;
    uint64_t all = 0;
    for (const FoundPassage& found : passages) {
        where.push_back(places.sentence(found.passage, with_title));
        held_tokens += found.held * static_cast<double>(found.passage.tokens());
        all += found.passage.tokens();
    }
    if (!excerpts.empty())
        return Text("answered from these sentences alone: {0}; {1} tokens in all", joined(where, "; "),
                    format_count(all));
    return Text("read again: {0}; {1} tokens in all, of which {2} % were held", joined(where, "; "),
                format_count(all), std::lround(100 * held_tokens / std::max(1.0, static_cast<double>(all))));
}

nlohmann::ordered_json Rereading::json(Store& store) const
{
    PassagePlaces places(store.library);
    return {{"passages", passages_json(read, places)},
            {"held", passages_json(held, places)},
            {"tokens", tokens()},
            {"found", hits},
            {"ranked", ranked},
            {"seconds", seconds}};
}

Rereading read_again_by(const Message& message, Store& store)
{
    const auto is_of = [](const ReadAgain& part, const StoredPassage& passage) {
        return part.document == passage.document && passage.first_token < part.end_token &&
               part.first_token < passage.end_token;
    };
    std::set<int64_t> documents;
    for (const ReadAgain& part : message.read_again)
        documents.insert(part.document);
    Rereading found;
    for (const int64_t document : documents)
        for (const StoredPassage& passage : PassageIndex(store.database).all(document)) {
            const auto part = std::find_if(message.read_again.begin(), message.read_again.end(),
                                           [&](const ReadAgain& one) { return is_of(one, passage); });
            if (part != message.read_again.end()) found.read.push_back({passage, part->held});
        }
    return found;
}

Rereading plan_rereading(Store& store, const SessionStream& stream, const engine::Session& session,
                         std::string_view question, const RereadOptions& options, const FindingMeans& means)
{
    using Clock = std::chrono::steady_clock;
    Rereading plan;
    if (options.mode == RereadMode::Never) return plan;
    const auto begin = Clock::now();
    plan.before = means.before;
    const std::vector<int64_t> documents = documents_in(stream);
    if (documents.empty()) return plan;
    const Copies copies = copies_in(store, stream);
    const bool is_part = is_read_in_part(store, stream);
    RankedPassages ranked{.hits = search_passages(store.database, {question, means.before}, documents,
                                                  is_part ? most_hits_of_a_part : most_hits,
                                                  means.meaning ? &*means.meaning : nullptr)};
    if (is_part) keep_read(ranked.hits, copies);
    plan.hits = ranked.hits.size();
    if (means.encoder && means.is_by_meaning())
        ranked.hits = ranked_by_reading(std::move(ranked.hits), {question, means.before}, *means.meaning,
                                        *means.encoder, store, means.stop);
    if (means.model)
        ranked =
            rank_passages(std::move(ranked.hits), question, means.model, store, options.rank_seconds, means.stop);
    plan.ranked = ranked.ranked;
    for (const PassageHit& hit : choose_passages(ranked.hits, allowed_tokens(session, options))) {
        if (!is_intact(hit.passage, store, means.listener)) continue;
        const double held = held_of(hit.passage, copies.at(hit.passage.document), session);
        const bool is_held = options.mode == RereadMode::Auto && held >= held_well;
        append(is_held ? plan.held : plan.read, {hit.passage, held});
    }
    if (options.needs_room && !has_room(session, plan)) {
        plan.read.clear();
        if (means.listener) means.listener->note(Text("nothing is read again: the cache has no room for it"));
    }
    plan.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    return plan;
}

std::string asked_before(Store& store, const SessionStream& stream)
{
    constexpr size_t most_messages = 2, most_bytes = 1000; // each
    std::string text;
    size_t found = 0;
    const std::vector<StreamPart>& parts = stream.parts();
    for (size_t i = parts.size(); i-- > 0 && found < most_messages;) {
        const StreamMessage* part = message_in(parts[i]);
        if (!part || !part->id) continue;
        const auto message = store.conversations.message(*part->id);
        if (!message || message->damaged || message->role != Role::User) continue;
        text.insert(0, message->text.substr(0, most_bytes) + '\n');
        ++found;
    }
    return text;
}

std::string_view name_of(RereadMode mode)
{
    return reread_mode_names[static_cast<size_t>(mode)];
}

std::optional<RereadMode> reread_mode(std::string_view name)
{
    const auto found = std::find(std::begin(reread_mode_names), std::end(reread_mode_names), name);
    if (found == std::end(reread_mode_names)) return std::nullopt;
    return static_cast<RereadMode>(found - std::begin(reread_mode_names));
}

} // namespace palimpsest::storage
