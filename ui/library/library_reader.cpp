#include "ui/library/library_reader.h"

#include <QFileInfo>
#include <QHash>
#include <algorithm>
#include <map>
#include <set>

#include "kernels/base/error.h"
#include "storage/conversations.h"
#include "storage/library.h"
#include "storage/passages/passage_places.h"
#include "storage/passages/passage_text_search.h"
#include "storage/session/stored_notes.h"
#include "storage/snapshots.h"
#include "ui/base/utf8.h"
#include "ui/base/visible_text.h"
#include "ui/engine/failure.h"

namespace palimpsest::ui {
namespace {

LibrarySession session_of(storage::Database& db, const storage::SessionInfo& info,
                          const std::vector<storage::StreamPart>& stream)
{
    LibrarySession session{.id = info.id,
                           .name = text_of(info.name),
                           .model_name = text_of(info.model_name),
                           .changed = QDateTime::fromMSecsSinceEpoch(info.changed_ms)};
    for (const storage::StreamPart& part : stream) {
        session.tokens += tokens_of(part);
        if (storage::document_in(part)) session.document_tokens = session.tokens;
    }
    for (const storage::SnapshotInfo& state : storage::Snapshots(db).of(info.id))
        session.tokens_saved = std::max(session.tokens_saved, state.tokens_seen);
    return session;
}

// Returns the same key for the same file with the same content, whichever session read it.
QString identity(const storage::DocumentInfo& info)
{
    if (info.source_bytes < 0) return QString::number(info.id);
    return QStringLiteral("%1:%2:%3").arg(info.source_bytes).arg(info.source_hash).arg(text_of(info.title));
}

class ContentsBuilder {
public:
    explicit ContentsBuilder(storage::Database& db) : db_(db)
    {
        for (const storage::DocumentInfo& info : storage::Library(db).list())
            infos_.emplace(info.id, info);
    }

    void add(const storage::SessionInfo& info)
    {
        const auto stream = storage::Conversations(db_).stream(info.id);
        const LibrarySession session = session_of(db_, info, stream);
        std::set<size_t> read; // a stream may have the same file twice
        for (const storage::StreamPart& part : stream) {
            const storage::StreamDocument* stored = storage::document_in(part);
            if (!stored || !infos_.contains(stored->id)) continue;
            const size_t at = place_of(infos_.at(stored->id));
            if (read.insert(at).second) contents_.documents[at].sessions.push_back(session);
        }
        if (read.empty()) bare_.sessions.push_back(session);
    }

    // Adds the documents of the library that no session has read, and marks the others.
    void add_kept()
    {
        std::vector<const storage::DocumentInfo*> kept;
        for (const auto& [id, info] : infos_)
            if (info.kept_ms > 0) kept.push_back(&info);
        std::ranges::stable_sort(kept, std::greater(), &storage::DocumentInfo::kept_ms);
        for (const storage::DocumentInfo* info : kept)
            contents_.documents[place_of(*info)].is_kept = true;
    }

    LibraryContents take()
    {
        if (!bare_.sessions.empty()) contents_.documents.push_back(std::move(bare_));
        return std::move(contents_);
    }

private:
    // The index of the document in the contents; adds it if it is new.
    size_t place_of(const storage::DocumentInfo& info)
    {
        const auto [place, is_new] = places_.try_emplace(identity(info), contents_.documents.size());
        if (is_new)
            contents_.documents.push_back({.ids = {},
                                           .title = text_of(info.title),
                                           .source = text_of(info.source),
                                           .tokens = info.tokens,
                                           .sessions = {},
                                           .notes = notes_of(info)});
        LibraryDocument& found = contents_.documents[place->second];
        if (std::find(found.ids.begin(), found.ids.end(), info.id) == found.ids.end()) found.ids.push_back(info.id);
        return place->second;
    }

    std::vector<Text> notes_of(const storage::DocumentInfo& info)
    {
        try {
            storage::Library library(db_);
            return storage::notes_of_reader(library, info);
        } catch (const Error&) {
            return {}; // damage is told where the document is opened
        }
    }

    storage::Database& db_;
    std::map<int64_t, storage::DocumentInfo> infos_;
    std::map<QString, size_t> places_;
    LibraryContents contents_;
    LibraryDocument bare_;
};

} // namespace

LibraryReader::LibraryReader(const QString& database, QObject* parent)
    : QObject(parent), file_(database), thread_([this](const std::stop_token& stop) { work(stop); })
{
}

LibraryReader::~LibraryReader()
{
    {
        const std::lock_guard lock(mutex_);
        ++search_; // cancels a running search
        thread_.request_stop();
    }
    wake_.notify_all();
    thread_.join();
}

void LibraryReader::refresh()
{
    const std::lock_guard lock(mutex_);
    refresh_wanted_ = true;
    wake_.notify_all();
}

void LibraryReader::search(const QString& text, const QString& open_session)
{
    const std::lock_guard lock(mutex_);
    ++search_;
    search_wanted_.reset();
    if (!text.trimmed().isEmpty()) search_wanted_ = {text, open_session}; // a space at its end ends a word
    wake_.notify_all();
}

void LibraryReader::work(const std::stop_token& stop)
{
    while (true) {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, stop, [&] { return refresh_wanted_ || search_wanted_; });
        if (stop.stop_requested()) return;
        if (std::exchange(refresh_wanted_, false)) {
            lock.unlock();
            read_contents();
        } else {
            const Wanted wanted = *std::exchange(search_wanted_, std::nullopt);
            const uint64_t number = search_;
            lock.unlock();
            look_for(wanted, number);
        }
    }
}

bool LibraryReader::is_wanted(uint64_t search) const
{
    const std::lock_guard lock(mutex_);
    return search == search_;
}

// Opens the database for `work`, which gets null if there is none yet. Emits failed for other errors.
template<class Work>
void LibraryReader::with_database(Work&& work)
try {
    std::optional<storage::Database> db;
    try {
        db.emplace(QFileInfo(file_).filesystemFilePath(), storage::Database::Access::Read);
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::NotFound) throw;
    }
    work(db ? &*db : nullptr);
} catch (const std::exception& error) {
    const Failure failure = failure_of(error);
    QMetaObject::invokeMethod(this, [this, failure] { Q_EMIT failed(failure); });
}

void LibraryReader::read_contents()
{
    with_database([this](storage::Database* db) {
        auto contents = std::make_shared<LibraryContents>();
        if (db) {
            ContentsBuilder builder(*db);
            for (const storage::SessionInfo& info : storage::Conversations(*db).list())
                builder.add(info);
            builder.add_kept();
            *contents = builder.take();
        }
        QMetaObject::invokeMethod(this, [this, contents] { Q_EMIT contents_read(contents); });
    });
}

// Calls `signal` on the window's thread, unless a newer search has replaced this one.
template<class Signal>
void LibraryReader::tell(uint64_t search, Signal&& signal)
{
    QMetaObject::invokeMethod(this, [this, search, signal = std::forward<Signal>(signal)] {
        if (is_wanted(search)) signal();
    });
}

namespace {

// One search through the whole database: first the messages, then the documents.
class Searching {
public:
    Searching(storage::Database& db, const QString& text, std::function<bool()> go_on,
              std::function<void(std::vector<SearchHit>, const SearchProgress&)> tell)
        : db_(db), query_(storage::text_query(text.toStdString())), go_on_(std::move(go_on)), tell_(std::move(tell))
    {
        progress_.text = text;
    }

    void run(const QString& open_session)
    {
        auto sessions = storage::Conversations(db_).list();
        const auto is_open = [&](const storage::SessionInfo& info) { return text_of(info.name) == open_session; };
        std::stable_partition(sessions.begin(), sessions.end(), is_open);
        progress_.sessions = sessions.size();
        for (const storage::SessionInfo& info : sessions) {
            if (!go_on_()) return;
            search_session(info);
        }
        search_documents();
    }

private:
    // Skips a session that is damaged or was deleted meanwhile.
    void search_session(const storage::SessionInfo& info)
    {
        try {
            for (const storage::StreamPart& part : storage::Conversations(db_).stream(info.id))
                if (const auto* document = storage::document_in(part)) readers_.emplace_back(document->id, info);
            search_messages(info);
        } catch (const Error& error) {
            if (error.kind() != ErrorKind::NotFound) ++progress_.sessions_unreadable;
        }
        ++progress_.sessions_searched;
        hand_over();
    }

    void search_messages(const storage::SessionInfo& info)
    {
        const auto messages = storage::Conversations(db_).messages(info.id);
        std::map<int64_t, int> answers; // by parent: how many answers the loop has yet to reach
        std::vector<std::string> texts;
        for (const storage::Message& message : messages) {
            if (message.parent) ++answers[*message.parent];
            texts.push_back(message.damaged ? std::string() : message.text);
        }
        const auto found = storage::found_in(query_, texts);
        for (size_t i = 0; i < messages.size(); ++i) {
            const int64_t parent = messages[i].parent.value_or(0);
            const int newer = messages[i].parent ? --answers[parent] : 0;
            if (found[i].empty()) continue;
            progress_.has_all_messages = progress_.messages < LibraryReader::max_messages;
            if (!progress_.has_all_messages) return;
            ++progress_.messages;
            found_.push_back({.session = text_of(info.name),
                              .session_id = info.id,
                              .title = {},
                              .section = {},
                              .pages = {},
                              .found = {},
                              .message = messages[i].id,
                              .parent = parent,
                              .newer = newer,
                              .snippet = snippet_of(texts[i], found[i])});
        }
    }

    // The documents to search, each with the first session that has it, or a copy of it, or without one.
    std::map<int64_t, storage::SessionInfo> searched_documents() const
    {
        std::map<int64_t, storage::DocumentInfo> infos;
        for (const storage::DocumentInfo& info : storage::Library(db_).list())
            infos.emplace(info.id, info);
        std::map<QString, int64_t> copies;
        std::map<int64_t, storage::SessionInfo> searched;
        for (const auto& [document, session] : readers_) {
            const auto info = infos.find(document);
            if (info == infos.end()) continue;
            if (copies.try_emplace(identity(info->second), document).first->second == document)
                searched.try_emplace(document, session);
        }
        for (const auto& [id, info] : infos)
            if (info.kept_ms > 0 && copies.try_emplace(identity(info), id).second) searched.try_emplace(id);
        return searched;
    }

    void search_documents()
    {
        const auto searched = searched_documents();
        std::vector<int64_t> documents;
        documents.reserve(searched.size());
        for (const auto& [document, session] : searched)
            documents.push_back(document);
        const auto hits =
            storage::search_passage_texts(db_, query_, documents, LibraryReader::max_passages, go_on_);
        if (!hits) return;
        storage::Library library(db_);
        storage::PassagePlaces places(library);
        for (const storage::TextHit& hit : hits->best)
            found_.push_back(hit_of(hit, searched.at(hit.passage.document), places));
        progress_.passages = hits->best.size();
        progress_.passages_found = hits->passages;
        progress_.has_all_words = hits->has_all_terms;
        progress_.documents_unindexed = hits->unindexed;
        progress_.is_done = true;
        hand_over();
    }

    static SearchHit hit_of(const storage::TextHit& hit, const storage::SessionInfo& session,
                            storage::PassagePlaces& places)
    {
        const storage::Section* section = places.section(hit.passage);
        std::vector<ByteRange> found;
        for (const engine::TextRange& range : hit.found)
            if (found.size() < LibraryReader::max_marked)
                found.push_back({hit.passage.first_byte + range.begin, hit.passage.first_byte + range.end});
        if (found.empty()) found.push_back({hit.passage.first_byte, hit.passage.end_byte}); // its index is damaged
        return {.session = text_of(session.name),
                .session_id = session.id,
                .title = visible_text(text_of(places.title(hit.passage.document))).simplified(),
                .section = section ? text_of(section->title).simplified() : QString(),
                .pages = places.pages(hit.passage),
                .document = hit.passage.document,
                .found = std::move(found),
                .snippet = snippet_of(hit.text, hit.found)};
    }

    void hand_over() { tell_(std::exchange(found_, {}), progress_); }

    storage::Database& db_;
    const storage::TextQuery query_;
    std::function<bool()> go_on_;
    std::function<void(std::vector<SearchHit>, const SearchProgress&)> tell_;
    std::vector<std::pair<int64_t, storage::SessionInfo>>
        readers_; // documents with their sessions, in the order searched
    std::vector<SearchHit> found_;
    SearchProgress progress_;
};

} // namespace

void LibraryReader::look_for(const Wanted& wanted, uint64_t number)
{
    const auto hand_over = [this, number](std::vector<SearchHit> hits, const SearchProgress& progress) {
        tell(number, [this, hits = std::move(hits), progress] {
            if (!hits.empty()) Q_EMIT hits_found(hits);
            Q_EMIT search_progressed(progress);
        });
    };
    with_database([&](storage::Database* db) {
        if (!db) return hand_over({}, {.text = wanted.text, .is_done = true});
        Searching(
            *db, wanted.text, [&] { return is_wanted(number); }, hand_over)
            .run(wanted.open_session);
    });
}

} // namespace palimpsest::ui
