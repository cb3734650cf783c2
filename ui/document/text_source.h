// The stream as text, for views: a worker thread loads pages, and a cache holds some of them.
//
// The object lives on the window's thread. Every function returns at once, the destructor too; results arrive as
// signals. Memory: cached_pages pages (about 10 bytes per token), whatever the length of the stream.
#pragma once

#include <QObject>
#include <functional>
#include <list>
#include <memory>
#include <unordered_map>

#include "ui/document/text_outline.h"
#include "ui/document/text_page.h"

namespace palimpsest::ui {

// Search results since the last report.
struct Finding {
    quint64 search = 0;               // as returned by find()
    std::vector<StreamRange> matches; // ascending, after those reported before
    quint64 count = 0;                // all matches so far
    quint64 unread = 0;               // tokens that could not be read and were not searched
    double share = 0;                 // fraction of the text that was searched
    bool finished = false;
};

// Progress of fetching a range of text.
struct Excerpt {
    quint64 number = 0; // as returned by fetch()
    double share = 0;
    bool finished = false;
    QString text; // when finished: the whole text; empty if it could not be read, which failed() reports
};

class TextSource : public QObject {
    Q_OBJECT
public:
    static constexpr uint64_t page_tokens = 2048;
    static constexpr size_t cached_pages = 96;
    static constexpr size_t most_matches = 100000; // per search; further ones are only counted

    // Called on the worker thread; may throw Error, which is reported by failed().
    using OpenReader = std::function<std::unique_ptr<PageReader>()>;

    TextSource(TextOutline outline, OpenReader open, QObject* parent = nullptr);
    // Does not wait for a read in progress; its result is dropped.
    ~TextSource() override;

    // Replaces the outline after the stream grew, shrank or was replaced. Keeps loaded pages of the common prefix.
    // Ends a search.
    void set_outline(TextOutline outline, OpenReader open);

    const TextOutline& outline() const { return outline_; }
    uint64_t tokens() const { return outline_.tokens; }

    // Returns the page with `token`. If it is not loaded, requests it and returns null; page_arrived follows.
    std::shared_ptr<const TextPage> page(uint64_t token);

    // Finds all occurrences of `what` in order, ignoring case and the kind of white space. Returns the number of
    // the search; cancels an earlier one. An empty `what` only cancels.
    quint64 find(const QString& what);
    // Reads a range of text of any length. Returns the number of the request; cancels an earlier one. An empty
    // range only cancels.
    quint64 fetch(StreamRange range);
    // Finds the tokens that spell these bytes of a document; calls `done` with them on this thread, unless it
    // fails. Returns false if the document is not in the stream.
    bool locate(int64_t document, ByteRange bytes, QObject* context, std::function<void(StreamRange)> done);

Q_SIGNALS:
    void page_arrived(quint64 first_token);
    // is_another: no document or message of the old outline is in the new one.
    void outline_changed(bool is_another);
    void failed(const QString& sentence);
    void found(const palimpsest::ui::Finding& finding);
    void fetched(const palimpsest::ui::Excerpt& excerpt);

private:
    class Loader;

    void take(quint64 generation, std::shared_ptr<const TextPage> page);
    void drop_oldest();

    TextOutline outline_;
    std::unordered_map<uint64_t, std::pair<std::shared_ptr<const TextPage>, std::list<uint64_t>::iterator>> pages_;
    std::list<uint64_t> recent_; // page numbers, most recently used first
    quint64 generation_ = 0;     // of the outline
    quint64 search_ = 0, fetch_ = 0;
    std::shared_ptr<Loader> loader_;
};

} // namespace palimpsest::ui
