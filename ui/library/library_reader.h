// Reads and searches the database for the library, on a thread and through read-only connections of its own.
//
// Lives on the window's thread, where every function returns at once and every signal arrives. A connection is
// open only while something is read, so that what is deleted for good can leave the file.
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

// Where a text was found: in a document, or in what was said.
struct SearchHit {
    QString session; // its name; of a document: the last changed that reads it
    int64_t session_id = 0;
    QString title;        // of the document; empty: it was said
    int64_t document = 0; // 0: it was said
    int64_t message = 0;
    int64_t parent = 0; // the message that this one answers
    int newer = 0;      // answers to the same that came after it
    TextMatch match;
};

struct SearchProgress {
    QString text;
    uint64_t texts = 0, texts_searched = 0; // documents, and sessions with what was said in them
    uint64_t texts_unreadable = 0;          // of those: damaged
    uint64_t hits = 0;
    bool has_all_hits = true; // false: there are more than are shown
    bool is_done = false;
};

class LibraryReader : public QObject {
    Q_OBJECT
public:
    explicit LibraryReader(const QString& database, QObject* parent = nullptr);
    ~LibraryReader() override; // within a block's time

    void refresh();
    // In place of the search that may be under way. Empty: only ends that.
    void search(const QString& text);

    static constexpr uint64_t most_hits = 1000, most_hits_of_one = 50;

Q_SIGNALS:
    void contents_read(std::shared_ptr<const palimpsest::ui::LibraryContents> contents);
    void hits_found(const std::vector<palimpsest::ui::SearchHit>& hits);
    void search_progressed(const palimpsest::ui::SearchProgress& progress);
    void failed(const palimpsest::ui::Failure& failure);

private:
    void work(std::stop_token stop);
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
    uint64_t search_ = 0; // number of the newest
    std::jthread thread_; // last: it uses all the others
};

} // namespace palimpsest::ui
