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

#include "ui/engine/engine_thread.h"
#include "ui/library/library_contents.h"
#include "ui/library/text_search.h"

namespace palimpsest::storage {
class Database;
}

namespace palimpsest::ui {

// A match in a document or in a message.
struct SearchHit {
    QString session; // name; for a document, the most recently changed session that has it
    int64_t session_id = 0;
    QString title;        // the document's; empty for a message
    int64_t document = 0; // 0 for a message
    int64_t message = 0;
    int64_t parent = 0; // the message that this one answers
    int newer = 0;      // later answers to the same message
    TextMatch match;
};

struct SearchProgress {
    QString text;
    uint64_t texts = 0, texts_searched = 0; // numbers of documents and sessions
    uint64_t texts_unreadable = 0;          // damaged ones among texts_searched
    uint64_t hits = 0;
    bool has_all_hits = true; // false: more than the limit were found
    bool is_done = false;
};

class LibraryReader : public QObject {
    Q_OBJECT
public:
    explicit LibraryReader(const QString& database, QObject* parent = nullptr);
    ~LibraryReader() override; // waits for at most one text block

    void refresh();
    // Starts a search and cancels a running one. An empty text only cancels.
    void search(const QString& text);

    static constexpr uint64_t max_hits = 1000, most_hits_of_one = 50;

Q_SIGNALS:
    void contents_read(std::shared_ptr<const palimpsest::ui::LibraryContents> contents);
    void hits_found(const std::vector<palimpsest::ui::SearchHit>& hits);
    void search_progressed(const palimpsest::ui::SearchProgress& progress);
    void failed(const palimpsest::ui::Failure& failure);

private:
    void work(const std::stop_token& stop);
    void read_contents();
    void look_for(const QString& text, uint64_t number);
    bool is_wanted(uint64_t search) const;
    template<class Work>
    void with_database(Work&& work);
    template<class Signal>
    void tell(uint64_t search, Signal&& signal);

    const QString file_;
    mutable std::mutex mutex_;
    std::condition_variable_any wake_;
    bool refresh_wanted_ = false;
    std::optional<QString> search_wanted_;
    uint64_t search_ = 0; // number of the newest search
    std::jthread thread_; // last member: joined before the others are destroyed
};

} // namespace palimpsest::ui
