#include "ui/document/text_source.h"

#include <QElapsedTimer>
#include <QPointer>
#include <QStringMatcher>
#include <QThreadPool>
#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>

#include "engine/text/unicode/utf8.h"
#include "ui/base/wording.h"

namespace palimpsest::ui {
namespace {

constexpr size_t most_waiting = 32; // page requests; of more, the oldest are dropped: their text was scrolled past
constexpr qint64 report_interval_ms = 60; // between two progress reports

QString folded(QString text)
{
    for (QChar& c : text)
        if (c.isSpace()) c = u' ';
    return text;
}

size_t first_character(std::string_view text)
{
    size_t at = 0;
    while (at < text.size() && engine::is_utf8_continuation(text[at]))
        ++at;
    return at;
}

// Returns how many bytes of UTF-8 the `length` UTF-16 units from `at` have.
size_t utf8_bytes(const QString& text, qsizetype at, qsizetype length)
{
    size_t bytes = 0;
    for (qsizetype i = at; i < at + length; ++i) {
        const char16_t unit = text[i].unicode();
        if (QChar::isHighSurrogate(unit))
            bytes += 4;
        else if (!QChar::isLowSurrogate(unit))
            bytes += unit < 0x80 ? 1 : unit < 0x800 ? 2 : 3;
    }
    return bytes;
}

// Two consecutive pages.
struct Stretch {
    const TextPage* page;
    const TextPage* next; // may be null
    uint64_t token_at(size_t byte) const
    {
        const TextPage& in = byte < page->text.size() || !next ? *page : *next;
        const auto within = static_cast<uint32_t>(&in == page ? byte : byte - page->text.size());
        return in.first + static_cast<uint64_t>(std::ranges::upper_bound(in.ends, within) - in.ends.begin());
    }
};

// Returns the matches that start in `page`; they may end in `next`.
std::vector<StreamRange> matches_in(const TextPage& page, const TextPage* next, const QStringMatcher& matcher)
{
    const size_t begin = first_character(page.text), own = page.text.size();
    const size_t ahead =
        std::min<size_t>(next ? next->text.size() : 0, 4 * static_cast<size_t>(matcher.pattern().size()));
    std::string bytes = page.text.substr(begin);
    if (next) bytes.append(next->text, 0, ahead);
    // Valid UTF-8 (Utf8Cleaner), except that the bytes from `next` may end within a character. No match that starts
    // in `page` reaches that far.
    const QString read = QString::fromUtf8(bytes.data(), static_cast<qsizetype>(bytes.size()));
    // Folding replaces white space with plain spaces, which keeps the number of UTF-16 units but not that of bytes.
    const QString text = folded(read);
    const Stretch stretch{&page, next};
    std::vector<StreamRange> found;
    size_t byte = begin;
    qsizetype behind = 0;
    for (qsizetype at = matcher.indexIn(text); at >= 0; at = matcher.indexIn(text, at + matcher.pattern().size())) {
        byte += utf8_bytes(read, behind, at - behind);
        behind = at;
        if (byte >= own) break;
        const size_t end = byte + utf8_bytes(read, at, matcher.pattern().size());
        found.push_back({stretch.token_at(byte), stretch.token_at(end - 1) + 1});
    }
    return found;
}

double share_of(uint64_t part, uint64_t whole)
{
    return part >= whole ? 1 : static_cast<double>(part) / static_cast<double>(whole);
}

} // namespace

// The worker thread. Serves requested pages first, then locations, then excerpts, then the search, which reads one
// page at a time.
class TextSource::Loader {
public:
    explicit Loader(TextSource& source)
        : source_(&source), thread_([this](const std::stop_token& stop) { run(stop); })
    {
    }

    // Detaches the source. Destroying the loader afterwards waits for the read in progress.
    void leave()
    {
        const std::scoped_lock lock(telling_);
        source_ = nullptr;
        thread_.request_stop();
    }
    void open(quint64 generation, uint64_t tokens, OpenReader open)
    {
        const std::scoped_lock lock(mutex_);
        open_ = std::move(open), generation_ = generation, tokens_ = tokens, reopen_ = true;
        wanted_.clear();
        what_.clear();
        wake_.notify_one();
    }
    void want(uint64_t page)
    {
        const std::scoped_lock lock(mutex_);
        std::erase(wanted_, page);
        wanted_.push_front(page);
        if (wanted_.size() > most_waiting) wanted_.pop_back();
        wake_.notify_one();
    }
    void find(quint64 search, const QString& what)
    {
        const std::scoped_lock lock(mutex_);
        finding_ = {.search = search, .matches = {}};
        what_ = folded(what), next_ = 0, behind_ = 0, error_reported_ = false;
        finding_told_.start();
        wake_.notify_one();
    }
    void fetch(quint64 number, StreamRange range)
    {
        const std::scoped_lock lock(mutex_);
        fetch_ = {.number = number, .range = range, .at = range.first, .bytes = {}, .told = {}};
        fetch_.told.start();
        wake_.notify_one();
    }
    void locate(const TextPart& document, ByteRange bytes, std::function<void(StreamRange)> done)
    {
        const std::scoped_lock lock(mutex_);
        places_.push_back({document, bytes, std::move(done)});
        wake_.notify_one();
    }

private:
    struct Place {
        TextPart document;
        ByteRange bytes;
        std::function<void(StreamRange)> done;
    };
    struct Fetch {
        quint64 number = 0;
        StreamRange range{};
        uint64_t at = 0; // next token to read
        QByteArray bytes{};
        QElapsedTimer told{};
    };

    void run(const std::stop_token& stop)
    {
        std::unique_lock lock(mutex_);
        while (wake_.wait(lock, stop, [&] { return has_work(); }) && !stop.stop_requested())
            step(lock);
    }

    bool has_work() const
    {
        return reopen_ || !wanted_.empty() || !places_.empty() || fetch_.at < fetch_.range.last || !what_.isEmpty();
    }

    void step(std::unique_lock<std::mutex>& lock)
    {
        if (reopen_) return open_reader(lock);
        if (!wanted_.empty()) return read_page(lock);
        if (!places_.empty()) return look_up(lock);
        if (fetch_.at < fetch_.range.last) return fetch_page(lock);
        search_page(lock);
    }

    // Runs `work` unlocked. Returns the error message; null on success.
    template<class Work>
    QString attempt(std::unique_lock<std::mutex>& lock, Work&& work)
    {
        QString trouble;
        lock.unlock();
        try {
            work();
        } catch (const std::exception& error) {
            trouble = shown(error);
        }
        lock.lock();
        return trouble;
    }

    TextPage read(uint64_t first, uint64_t count)
    {
        if (!reader_) throw std::runtime_error(why_closed_.toStdString());
        return reader_->read(first, count);
    }

    void open_reader(std::unique_lock<std::mutex>& lock)
    {
        const OpenReader open = open_;
        reopen_ = false;
        why_closed_ = attempt(lock, [&] {
            ahead_.reset();
            reader_.reset();
            reader_ = open();
        });
        tell(why_closed_);
    }

    void read_page(std::unique_lock<std::mutex>& lock)
    {
        const uint64_t first = wanted_.front() * page_tokens;
        const quint64 generation = generation_;
        wanted_.pop_front();
        if (!reader_) return; // open_reader() already reported why
        tell(attempt(lock, [&] {
            post([generation, page = std::make_shared<const TextPage>(read(first, page_tokens))](
                     TextSource& source) { source.take(generation, page); });
        }));
    }

    void look_up(std::unique_lock<std::mutex>& lock)
    {
        const Place place = std::move(places_.front());
        places_.pop_front();
        tell(attempt(lock, [&] {
            if (!reader_) throw std::runtime_error(why_closed_.toStdString());
            post([done = place.done, tokens = reader_->tokens_of(place.document, place.bytes)](TextSource&) {
                done(tokens);
            });
        }));
    }

    void fetch_page(std::unique_lock<std::mutex>& lock)
    {
        const quint64 number = fetch_.number;
        const StreamRange range = fetch_.range;
        uint64_t at = fetch_.at;
        QByteArray bytes = std::move(fetch_.bytes);
        QString text;
        const QString trouble = attempt(lock, [&] {
            const TextPage page = read(at, std::min(page_tokens, range.last - at));
            if (page.ends.empty())
                throw std::runtime_error(
                    TextSource::tr("The text changed while it was copied; select the passage anew.").toStdString());
            bytes.append(page.text.data(), static_cast<qsizetype>(page.text.size()));
            at = page.last();
            if (at >= range.last) text = QString::fromUtf8(bytes);
        });
        if (number != fetch_.number) return;
        tell(trouble);
        const bool finished = !trouble.isNull() || at >= range.last;
        fetch_.at = finished ? range.last : at;
        if (!finished) fetch_.bytes = std::move(bytes);
        if (!finished && fetch_.told.elapsed() < report_interval_ms) return;
        fetch_.told.start();
        const double share = share_of(at - range.first, range.last - range.first);
        post([excerpt = Excerpt{number, share, finished, text}](TextSource& source) {
            if (excerpt.number == source.fetch_) Q_EMIT source.fetched(excerpt);
        });
    }

    // Skips a page that cannot be read, and counts its tokens as unread.
    void search_page(std::unique_lock<std::mutex>& lock)
    {
        const quint64 search = finding_.search, generation = generation_;
        const uint64_t number = next_, first = number * page_tokens, tokens = tokens_;
        const QStringMatcher matcher(what_, Qt::CaseInsensitive);
        const auto page = searched_page(lock, number);
        ahead_ = first + page_tokens < tokens ? searched_page(lock, number + 1) : nullptr;
        std::vector<StreamRange> matches;
        if (page) tell(attempt(lock, [&] { matches = matches_in(*page, ahead_.get(), matcher); }));
        if (search != finding_.search || generation != generation_ || what_.isEmpty()) return;
        if (!page) finding_.unread += std::min(page_tokens, tokens - std::min(tokens, first));
        keep(std::move(matches));
    }

    // Returns null if the page cannot be read.
    std::shared_ptr<const TextPage> searched_page(std::unique_lock<std::mutex>& lock, uint64_t number)
    {
        if (ahead_ && ahead_->first == number * page_tokens) return ahead_;
        std::shared_ptr<const TextPage> page;
        const QString trouble = attempt(
            lock, [&] { page = std::make_shared<const TextPage>(read(number * page_tokens, page_tokens)); });
        if (!trouble.isNull() && !std::exchange(error_reported_, true)) tell(trouble);
        return page;
    }

    void keep(std::vector<StreamRange> matches)
    {
        // A match that crosses the border of two pages may overlap one found at the start of the second, which is
        // dropped.
        while (!matches.empty() && matches.front().first < behind_ && finding_.count > 0)
            matches.erase(matches.begin());
        if (!matches.empty()) behind_ = matches.back().last;
        const size_t room = most_matches - std::min<size_t>(most_matches, finding_.count);
        finding_.count += matches.size();
        matches.resize(std::min(matches.size(), room));
        finding_.matches.insert(finding_.matches.end(), matches.begin(), matches.end());
        const uint64_t looked_at = ++next_ * page_tokens;
        finding_.share = share_of(looked_at, tokens_);
        finding_.finished = looked_at >= tokens_;
        if (finding_.finished) what_.clear();
        if (!finding_.finished && finding_told_.elapsed() < report_interval_ms) return;
        post([finding = finding_](TextSource& source) {
            if (finding.search == source.search_) Q_EMIT source.found(finding);
        });
        finding_.matches.clear();
        finding_told_.start();
    }

    void tell(const QString& trouble)
    {
        if (!trouble.isNull()) post([trouble](TextSource& source) { Q_EMIT source.failed(trouble); });
    }

    // Runs `work` on the window's thread, unless the source is destroyed before.
    template<class Work>
    void post(Work work)
    {
        const std::scoped_lock lock(telling_);
        if (!source_) return;
        QMetaObject::invokeMethod(
            source_, [source = source_, work = std::move(work)] { work(*source); }, Qt::QueuedConnection);
    }

    std::mutex telling_; // guards source_; locked after mutex_ where both are needed
    TextSource* source_; // null once the source is destroyed
    std::mutex mutex_;
    std::condition_variable_any wake_;
    OpenReader open_;
    quint64 generation_ = 0;
    uint64_t tokens_ = 0;
    bool reopen_ = false;
    std::deque<uint64_t> wanted_;
    std::deque<Place> places_;
    Fetch fetch_;
    Finding finding_;
    QString what_;                // empty: no search
    uint64_t next_ = 0;           // next page to search
    uint64_t behind_ = 0;         // end of the last match
    bool error_reported_ = false; // only the first error of a search is reported
    QElapsedTimer finding_told_;
    std::unique_ptr<PageReader> reader_;    // used by the worker thread only; null if it could not be opened
    QString why_closed_;                    // used by the worker thread only
    std::shared_ptr<const TextPage> ahead_; // used by the worker thread only: the page after the one searched
    std::jthread thread_;                   // last member: joined before the others are destroyed
};

TextSource::TextSource(TextOutline outline, OpenReader open, QObject* parent)
    : QObject(parent), outline_(std::move(outline)), loader_(std::make_shared<Loader>(*this))
{
    loader_->open(generation_, outline_.tokens, std::move(open));
}

// A read may wait for a busy database, so a thread of the pool destroys the loader instead of blocking the window.
TextSource::~TextSource()
{
    loader_->leave();
    QThreadPool::globalInstance()->start([loader = std::move(loader_)]() mutable { loader.reset(); });
}

void TextSource::set_outline(TextOutline outline, OpenReader open)
{
    const uint64_t common = outline.common_with(outline_);
    std::erase_if(pages_, [&](const auto& page) {
        const bool stays = page.second.first->last() <= common && page.second.first->ends.size() == page_tokens;
        if (!stays) recent_.erase(page.second.second);
        return !stays;
    });
    const auto text =
        std::ranges::find_if(outline_.parts, [](const TextPart& part) { return part.kind != PartKind::Framing; });
    const bool is_another = text != outline_.parts.end() && text->range.first >= common;
    outline_ = std::move(outline);
    loader_->open(++generation_, outline_.tokens, std::move(open));
    Q_EMIT outline_changed(is_another);
}

std::shared_ptr<const TextPage> TextSource::page(uint64_t token)
{
    const uint64_t number = token / page_tokens;
    const auto at = pages_.find(number);
    if (at == pages_.end()) {
        loader_->want(number);
        return nullptr;
    }
    recent_.splice(recent_.begin(), recent_, at->second.second);
    return at->second.first;
}

void TextSource::take(quint64 generation, std::shared_ptr<const TextPage> page)
{
    if (generation != generation_ || page->ends.empty()) return;
    const uint64_t first = page->first, number = first / page_tokens;
    if (const auto old = pages_.find(number); old != pages_.end()) {
        recent_.erase(old->second.second);
        pages_.erase(old);
    }
    recent_.push_front(number);
    pages_.emplace(number, std::pair(std::move(page), recent_.begin()));
    drop_oldest();
    Q_EMIT page_arrived(first);
}

void TextSource::drop_oldest()
{
    while (pages_.size() > cached_pages) {
        pages_.erase(recent_.back());
        recent_.pop_back();
    }
}

quint64 TextSource::find(const QString& what)
{
    loader_->find(++search_, what);
    return search_;
}

quint64 TextSource::fetch(StreamRange range)
{
    range.last = std::min(range.last, tokens());
    loader_->fetch(++fetch_, range);
    return fetch_;
}

bool TextSource::locate(int64_t document, ByteRange bytes, QObject* context, std::function<void(StreamRange)> done)
{
    const auto part = std::ranges::find_if(
        outline_.parts, [&](const TextPart& at) { return at.kind == PartKind::Document && at.id == document; });
    if (part == outline_.parts.end()) return false;
    loader_->locate(*part, bytes,
                    [context = QPointer<QObject>(context), done = std::move(done)](StreamRange tokens) {
                        if (context) done(tokens);
                    });
    return true;
}

} // namespace palimpsest::ui
