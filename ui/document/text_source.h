// The stream as text, for views: pages come from a thread of its own, and a few of them are kept.
//
// Lives on the window's thread, where every function returns at once, its end too. What is not there yet arrives by
// signal. Memory: cached_pages pages (about 10 bytes a token), whatever the length of the stream.
#pragma once

#include <QObject>
#include <functional>
#include <list>
#include <memory>
#include <unordered_map>

#include "ui/document/text_outline.h"
#include "ui/document/text_page.h"

namespace palimpsest::ui {

// What a search has found since it told last.
struct Finding {
    quint64 search = 0;               // as find returned it
    std::vector<StreamRange> matches; // ascending, behind those that were told before
    quint64 count = 0;                // of all matches so far
    quint64 unread = 0;               // tokens that could not be read: what they say is not known
    double share = 0;                 // of the text that was looked through
    bool finished = false;
};

// How far a stretch of the text was fetched.
struct Excerpt {
    quint64 number = 0; // as fetch returned it
    double share = 0;
    bool finished = false;
    QString text; // once it is finished, all of it; empty: it could not be read, and failed said so
};

class TextSource : public QObject {
    Q_OBJECT
public:
    static constexpr uint64_t page_tokens = 2048;
    static constexpr size_t cached_pages = 96;
    static constexpr size_t most_matches = 100000; // kept of one search; beyond it they are only counted

    // Called on the loader's thread; it may throw Error, which arrives as failed.
    using OpenReader = std::function<std::unique_ptr<PageReader>()>;

    TextSource(TextOutline outline, OpenReader open, QObject* parent = nullptr);
    // What is being read at that moment may outlive it, on its thread; nothing is told of it.
    ~TextSource() override;

    // The stream grew, was taken back, or is another: pages of what both have in common stay. Ends a search.
    void set_outline(TextOutline outline, OpenReader open);

    const TextOutline& outline() const { return outline_; }
    uint64_t tokens() const { return outline_.tokens; }

    // The page that holds `token`; null: it was asked for, and page_arrived comes.
    std::shared_ptr<const TextPage> page(uint64_t token);

    // All places, in order, where the text says `what`: case is ignored, and any white space equals any other.
    // Returns the number its findings carry; an earlier search ends. An empty `what` only ends it.
    quint64 find(const QString& what);
    // The text of a stretch of any length, as one. Returns the number its excerpts carry; an earlier one ends. An
    // empty range only ends it.
    quint64 fetch(StreamRange range);
    // Which tokens spell these bytes of a document: `done` gets them on this thread, or nothing if that failed.
    // False: the document is not in the stream.
    bool locate(int64_t document, ByteRange bytes, QObject* context, std::function<void(StreamRange)> done);

Q_SIGNALS:
    void page_arrived(quint64 first_token);
    void outline_changed(bool is_another); // no document and no message is in both
    void failed(const QString& sentence);
    void found(const palimpsest::ui::Finding& finding);
    void fetched(const palimpsest::ui::Excerpt& excerpt);

private:
    class Loader;

    void take(quint64 generation, std::shared_ptr<const TextPage> page);
    void drop_oldest();

    TextOutline outline_;
    std::unordered_map<uint64_t, std::pair<std::shared_ptr<const TextPage>, std::list<uint64_t>::iterator>> pages_;
    std::list<uint64_t> recent_; // page numbers, the last used first
    quint64 generation_ = 0;     // of the outline
    quint64 search_ = 0, fetch_ = 0;
    std::shared_ptr<Loader> loader_;
};

} // namespace palimpsest::ui
