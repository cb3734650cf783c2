// The stream as text, for views: pages come from a thread of its own, and a few of them are kept.
//
// Lives on the window's thread. page() returns at once; what is not there yet arrives by signal. Memory:
// cached_pages pages (about 10 bytes a token), whatever the length of the stream.
#pragma once

#include <QObject>
#include <functional>
#include <list>
#include <memory>
#include <unordered_map>

#include "ui/document/text_outline.h"
#include "ui/document/text_page.h"

namespace palimpsest::ui {

class TextSource : public QObject {
    Q_OBJECT
public:
    static constexpr uint64_t page_tokens = 2048;
    static constexpr size_t cached_pages = 96;
    static constexpr size_t most_matches = 100000; // kept of one search; beyond it they are only counted

    // Called on the loader's thread; it may throw Error, which arrives as failed.
    using OpenReader = std::function<std::unique_ptr<PageReader>()>;

    TextSource(TextOutline outline, OpenReader open, QObject* parent = nullptr);
    ~TextSource() override; // waits for the page that is being read

    // The stream grew, was taken back, or is another: pages of what both have in common stay.
    void set_outline(TextOutline outline, OpenReader open);

    const TextOutline& outline() const { return outline_; }
    uint64_t tokens() const { return outline_.tokens; }

    // The page that holds `token`; null: it was asked for, and page_arrived comes.
    std::shared_ptr<const TextPage> page(uint64_t token);

    // All places, in order, where the text says `what`: case is ignored, and any white space equals any other.
    // Returns the number its signals carry; an earlier search ends. An empty `what` only ends it.
    quint64 find(const QString& what);
    // The bytes of a stretch, for the clipboard: `done` gets them on this thread, or nothing if it failed.
    // REQUIRES: at most most_text_tokens.
    static constexpr uint64_t most_text_tokens = 4'000'000;
    void text_of(StreamRange range, QObject* context, std::function<void(const QByteArray&)> done);

Q_SIGNALS:
    void page_arrived(quint64 first_token);
    void outline_changed(bool is_another); // no document and no message is in both
    void failed(const QString& sentence);
    // `share` of the text was looked through; `count` matches so far, `matches` those since the last signal.
    void found(quint64 search, const std::vector<palimpsest::ui::StreamRange>& matches, quint64 count, double share,
               bool finished);

private:
    class Loader;

    void take(quint64 generation, std::shared_ptr<const TextPage> page);
    void drop_oldest();

    TextOutline outline_;
    std::unordered_map<uint64_t, std::pair<std::shared_ptr<const TextPage>, std::list<uint64_t>::iterator>> pages_;
    std::list<uint64_t> recent_; // page numbers, the last used first
    quint64 generation_ = 0;     // of the outline
    quint64 search_ = 0;
    std::unique_ptr<Loader> loader_;
};

} // namespace palimpsest::ui
