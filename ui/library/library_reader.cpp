#include "ui/library/library_reader.h"

#include <QFileInfo>
#include <QHash>
#include <algorithm>
#include <map>

#include "kernels/base/error.h"
#include "storage/conversations.h"
#include "storage/library.h"
#include "storage/snapshots.h"
#include "ui/base/utf8.h"
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
        const auto first = std::find_if(stream.begin(), stream.end(), [&](const storage::StreamPart& part) {
            const storage::StreamDocument* document = storage::document_in(part);
            return document && infos_.contains(document->id);
        });
        LibrarySession session = session_of(db_, info, stream);
        if (first == stream.end()) return bare_.sessions.push_back(std::move(session));
        document(infos_.at(storage::document_in(*first)->id)).sessions.push_back(std::move(session));
    }

    LibraryContents take()
    {
        if (!bare_.sessions.empty()) contents_.documents.push_back(std::move(bare_));
        return std::move(contents_);
    }

private:
    LibraryDocument& document(const storage::DocumentInfo& info)
    {
        const auto [place, is_new] = places_.try_emplace(identity(info), contents_.documents.size());
        if (is_new)
            contents_.documents.push_back({.ids = {},
                                           .title = text_of(info.title),
                                           .source = text_of(info.source),
                                           .tokens = info.tokens,
                                           .sessions = {}});
        LibraryDocument& found = contents_.documents[place->second];
        if (std::find(found.ids.begin(), found.ids.end(), info.id) == found.ids.end()) found.ids.push_back(info.id);
        return found;
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

void LibraryReader::search(const QString& text)
{
    const std::lock_guard lock(mutex_);
    ++search_;
    search_wanted_ = text.trimmed().isEmpty() ? std::nullopt : std::optional(text.trimmed());
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
            const QString text = *std::exchange(search_wanted_, std::nullopt);
            const uint64_t number = search_;
            lock.unlock();
            look_for(text, number);
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

// One search through the whole database: first the messages, which are short, then the documents.
class Searching {
public:
    Searching(storage::Database& db, const QString& text, std::function<bool()> go_on,
              std::function<void(std::vector<SearchHit>, const SearchProgress&)> tell)
        : db_(db), go_on_(std::move(go_on)), tell_(std::move(tell))
    {
        progress_.text = text;
    }

    void run()
    {
        const auto sessions = storage::Conversations(db_).list();
        const auto documents = storage::Library(db_).list();
        progress_.texts = sessions.size() + documents.size();
        for (const storage::SessionInfo& info : sessions) {
            if (!go_on_()) return;
            search_one([&] { search_said(info); });
        }
        for (const storage::DocumentInfo& info : documents) {
            if (!go_on_()) return;
            search_one([&] { search_document(info); });
        }
        progress_.is_done = true;
        hand_over();
    }

private:
    // Searches one document or session with `work`; skips it if it is damaged or was deleted meanwhile.
    template<class Work>
    void search_one(Work&& work)
    {
        try {
            work();
        } catch (const Error& error) {
            if (error.kind() != ErrorKind::NotFound) ++progress_.texts_unreadable;
        }
        ++progress_.texts_searched;
        hand_over();
    }

    void search_said(const storage::SessionInfo& info)
    {
        for (const storage::StreamPart& part : storage::Conversations(db_).stream(info.id))
            if (const auto* document = storage::document_in(part)) readers_.try_emplace(document->id, info);
        const auto messages = storage::Conversations(db_).messages(info.id);
        std::map<int64_t, int> answers; // by parent: how many answers the loop has yet to reach
        for (const storage::Message& message : messages)
            if (message.parent) ++answers[*message.parent];
        for (const storage::Message& message : messages) {
            const int newer = message.parent ? --answers[*message.parent] : 0;
            if (message.damaged) continue;
            TextSearch search(progress_.text);
            const auto visit = visitor({.session = text_of(info.name),
                                        .session_id = info.id,
                                        .title = {},
                                        .message = message.id,
                                        .parent = message.parent.value_or(0),
                                        .newer = newer,
                                        .match = {}});
            if (search.feed(message.text, visit)) search.finish(visit);
        }
    }

    void search_document(const storage::DocumentInfo& info)
    {
        const auto reader = readers_.find(info.id);
        if (reader == readers_.end()) return; // no session has the document, so that none could show it
        storage::Library library(db_);
        TextSearch search(progress_.text);
        const auto visit = visitor({.session = text_of(reader->second.name),
                                    .session_id = reader->second.id,
                                    .title = text_of(info.title),
                                    .document = info.id,
                                    .match = {}});
        bool goes_on = true;
        for (int64_t block = 0; goes_on; ++block) {
            if (!go_on_()) return;
            const std::string text = library.text_block(info.id, block);
            if (text.empty()) break;
            goes_on = search.feed(text, visit);
            if (!found_.empty()) hand_over();
        }
        if (goes_on) search.finish(visit);
    }

    TextSearch::Visit visitor(const SearchHit& origin)
    {
        return [this, origin, count = uint64_t{0}](const TextMatch& match) mutable {
            if (progress_.hits == LibraryReader::max_hits || count == LibraryReader::most_hits_of_one) {
                progress_.has_all_hits = false;
                return false;
            }
            ++count;
            ++progress_.hits;
            found_.push_back(origin);
            found_.back().match = match;
            return true;
        };
    }

    void hand_over() { tell_(std::exchange(found_, {}), progress_); }

    storage::Database& db_;
    std::function<bool()> go_on_;
    std::function<void(std::vector<SearchHit>, const SearchProgress&)> tell_;
    std::map<int64_t, storage::SessionInfo> readers_; // by document: its most recently changed session
    std::vector<SearchHit> found_;
    SearchProgress progress_;
};

} // namespace

void LibraryReader::look_for(const QString& text, uint64_t number)
{
    const auto hand_over = [this, number](std::vector<SearchHit> hits, const SearchProgress& progress) {
        tell(number, [this, hits = std::move(hits), progress] {
            if (!hits.empty()) Q_EMIT hits_found(hits);
            Q_EMIT search_progressed(progress);
        });
    };
    with_database([&](storage::Database* db) {
        if (!db) return hand_over({}, {.text = text, .is_done = true});
        Searching(
            *db, text, [&] { return is_wanted(number); }, hand_over)
            .run();
    });
}

} // namespace palimpsest::ui
