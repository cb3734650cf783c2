// Reads and searches the database for the library, on a worker thread with its own read-only connections.
//
// The object lives on the window's thread: every function returns at once, and signals arrive there. A connection
// is open only while something is read, so that SQLite can reclaim the space of deleted data.
#pragma once

#include <QObject>
#include <QString>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

#include "ui/document/text_page.h"
#include "ui/engine/engine_thread.h"
#include "ui/library/library_contents.h"
#include "ui/library/snippet.h"

namespace palimpsest::storage {
class Database;
}

namespace palimpsest::ui {

// A passage of a document, or a message, that was found.
struct SearchHit {
    QString session; // name; for a document, one that has it: the open session, else the most recently changed;
                     // empty: no session has it
    int64_t session_id = 0;
    QString title{}, section{}; // of the document; empty for a message
    storage::PageRange pages{};
    int64_t document = 0;           // 0 for a message
    std::vector<ByteRange> found{}; // the words in the document's text; ascending
    int64_t message = 0;            // 0 for a document
    int64_t parent = 0;             // the message that this one answers
    int newer = 0;                  // later answers to the same message
    Snippet snippet{};
};

struct SearchProgress {
    QString text;
    uint64_t sessions = 0, sessions_searched = 0;
    uint64_t sessions_unreadable = 0;          // damaged ones among sessions_searched
    uint64_t messages = 0;                     // that are listed
    bool has_all_messages = true;              // false: more than the limit were found
    uint64_t passages = 0, passages_found = 0; // that are listed; in all
    bool has_all_words = true;                 // false: no passage has all of them, so these have some
    uint64_t documents_unindexed = 0;          // whose passages are not found
    bool is_done = false;
};

class LibraryReader : public QObject {
    Q_OBJECT
public:
    explicit LibraryReader(const QString& database, QObject* parent = nullptr);
    ~LibraryReader() override; // waits for at most one session's messages

    void refresh();
    // Searches all messages, then the passages of all documents, for the words of `text` (storage::text_query), and
    // cancels a running search. An empty text only cancels. Of several stored copies of a file, one is searched,
    // and of several sessions with a document, one is named: `open_session` if it has it.
    void search(const QString& text, const QString& open_session = {});

    static constexpr uint64_t max_messages = 50, max_passages = 200;
    static constexpr size_t max_marked = 64; // words of one passage

Q_SIGNALS:
    void contents_read(std::shared_ptr<const palimpsest::ui::LibraryContents> contents);
    void hits_found(const std::vector<palimpsest::ui::SearchHit>& hits);
    void search_progressed(const palimpsest::ui::SearchProgress& progress);
    void failed(const palimpsest::ui::Failure& failure);

private:
    void work(const std::stop_token& stop);
    void read_contents();
    struct Wanted {
        QString text, open_session;
    };
    void look_for(const Wanted& wanted, uint64_t number);
    bool is_wanted(uint64_t search) const;
    template<class Work>
    void with_database(Work&& work);
    template<class Signal>
    void tell(uint64_t search, Signal&& signal);

    const QString file_;
    mutable std::mutex mutex_;
    std::condition_variable_any wake_;
    bool refresh_wanted_ = false;
    std::optional<Wanted> search_wanted_;
    uint64_t search_ = 0; // number of the newest search
    std::jthread thread_; // last member: joined before the others are destroyed
};

} // namespace palimpsest::ui
