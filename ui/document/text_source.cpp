#include "ui/document/text_source.h"

#include <QCoreApplication>
#include <QElapsedTimer>
#include <QPointer>
#include <QStringMatcher>
#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "engine/text/utf8.h"
#include "kernels/base/error.h"

namespace palimpsest::ui {
namespace {

constexpr size_t most_waiting = 32;      // pages: what was scrolled past is not read
constexpr qint64 milliseconds_told = 60; // between two reports of a search

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

// Bytes of UTF-8 that `length` code units of UTF-16 at `at` take.
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

// Of two pages that follow one another.
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

// Matches that begin in `page`; they may end in `next`.
std::vector<StreamRange> matches_in(const TextPage& page, const TextPage* next, const QStringMatcher& matcher)
{
    const size_t begin = first_character(page.text), own = page.text.size();
    const size_t ahead =
        std::min<size_t>(next ? next->text.size() : 0, 4 * static_cast<size_t>(matcher.pattern().size()));
    std::string bytes = page.text.substr(begin);
    if (next) bytes.append(next->text, 0, ahead);
    // Text is valid UTF-8 (Utf8Cleaner), but for a character that the look ahead cuts, behind every match.
    const QString text = folded(QString::fromUtf8(bytes.data(), static_cast<qsizetype>(bytes.size())));
    const Stretch stretch{&page, next};
    std::vector<StreamRange> found;
    size_t byte = begin;
    qsizetype behind = 0;
    for (qsizetype at = matcher.indexIn(text); at >= 0; at = matcher.indexIn(text, at + matcher.pattern().size())) {
        byte += utf8_bytes(text, behind, at - behind);
        behind = at;
        if (byte >= own) break;
        const size_t end = byte + utf8_bytes(text, at, matcher.pattern().size());
        found.push_back({stretch.token_at(byte), stretch.token_at(end - 1) + 1});
    }
    return found;
}

QString sentence_of(const std::exception& error)
{
    return QString::fromUtf8(error.what());
}

} // namespace

// One thread: pages before texts before the search, which looks for them after each page.
class TextSource::Loader {
public:
    explicit Loader(TextSource& source) : source_(source), thread_([this](std::stop_token stop) { run(stop); }) {}

    void open(quint64 generation, OpenReader open)
    {
        const std::scoped_lock lock(mutex_);
        open_ = std::move(open), generation_ = generation, reopen_ = true;
        wanted_.clear();
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
        search_ = search, what_ = folded(what), next_ = 0, count_ = 0, behind_ = 0;
        news_.clear();
        wake_.notify_one();
    }
    void text_of(StreamRange range, std::function<void(QByteArray)> done)
    {
        const std::scoped_lock lock(mutex_);
        texts_.push_back({range, std::move(done)});
        wake_.notify_one();
    }

private:
    struct Text {
        StreamRange range;
        std::function<void(QByteArray)> done;
    };

    void run(const std::stop_token& stop)
    {
        std::unique_lock lock(mutex_);
        while (!stop.stop_requested()) {
            if (!wake_.wait(lock, stop, [&] { return has_work(); })) return;
            try {
                step(lock);
            } catch (const std::exception& error) {
                give_up(lock, error);
            }
        }
    }

    bool has_work() const { return reopen_ || !wanted_.empty() || !texts_.empty() || !what_.isEmpty(); }

    void step(std::unique_lock<std::mutex>& lock)
    {
        if (reopen_) return open_reader(lock);
        if (!wanted_.empty()) return read_page(lock);
        if (!texts_.empty()) return read_text(lock);
        search_page(lock);
    }

    void open_reader(std::unique_lock<std::mutex>& lock)
    {
        const OpenReader open = open_;
        reopen_ = false, next_ = 0, count_ = 0;
        lock.unlock();
        ahead_.reset();
        reader_ = nullptr;
        reader_ = open();
        lock.lock();
    }

    std::shared_ptr<const TextPage> read(uint64_t page)
    {
        if (!reader_)
            return std::make_shared<TextPage>(TextPage{.first = page * page_tokens, .text = {}, .ends = {}});
        return std::make_shared<const TextPage>(reader_->read(page * page_tokens, page_tokens));
    }

    void read_page(std::unique_lock<std::mutex>& lock)
    {
        const uint64_t page = wanted_.front();
        const quint64 generation = generation_;
        wanted_.pop_front();
        lock.unlock();
        post([this, generation, read = read(page)] { source_.take(generation, read); });
        lock.lock();
    }

    void read_text(std::unique_lock<std::mutex>& lock)
    {
        const Text text = std::move(texts_.front());
        texts_.pop_front();
        lock.unlock();
        QByteArray bytes;
        for (uint64_t at = text.range.first; reader_ && at < text.range.last;) {
            const TextPage page = reader_->read(at, std::min(page_tokens, text.range.last - at));
            if (page.ends.empty()) break;
            bytes.append(page.text.data(), static_cast<qsizetype>(page.text.size()));
            at = page.last();
        }
        post([done = text.done, bytes] { done(bytes); });
        lock.lock();
    }

    void search_page(std::unique_lock<std::mutex>& lock)
    {
        const quint64 search = search_;
        const QStringMatcher matcher(what_, Qt::CaseInsensitive);
        const uint64_t number = next_;
        if (number == 0) told_.start();
        lock.unlock();
        const auto page = ahead_ && ahead_->first == number * page_tokens ? ahead_ : read(number);
        ahead_ = page->ends.empty() ? nullptr : read(number + 1);
        auto matches = page->ends.empty() ? std::vector<StreamRange>{} : matches_in(*page, ahead_.get(), matcher);
        lock.lock();
        if (search != search_ || number != next_) return;
        keep(std::move(matches), !ahead_ || ahead_->ends.empty());
    }

    void keep(std::vector<StreamRange> matches, bool finished)
    {
        // A match that reaches over the border of a page may be found again behind it.
        while (!matches.empty() && matches.front().first < behind_ && count_ > 0)
            matches.erase(matches.begin());
        if (!matches.empty()) behind_ = matches.back().last;
        const size_t room = most_matches - std::min<size_t>(most_matches, count_);
        count_ += matches.size();
        matches.resize(std::min(matches.size(), room));
        news_.insert(news_.end(), matches.begin(), matches.end());
        ++next_;
        if (finished) what_.clear();
        if (!finished && told_.elapsed() < milliseconds_told) return;
        const double tokens = static_cast<double>(next_ * page_tokens);
        post([this, search = search_, news = std::exchange(news_, {}), count = count_, tokens, finished] {
            if (search != source_.search_) return;
            const double share =
                finished ? 1 : tokens / static_cast<double>(std::max<uint64_t>(1, source_.tokens()));
            Q_EMIT source_.found(search, news, count, std::min(share, 1.0), finished);
        });
        told_.start();
    }

    void give_up(std::unique_lock<std::mutex>& lock, const std::exception& error)
    {
        if (!lock.owns_lock()) lock.lock();
        const QString sentence = sentence_of(error);
        post([this, sentence] { Q_EMIT source_.failed(sentence); });
        if (!what_.isEmpty()) keep({}, true);
    }

    // On the window's thread, unless the source is gone by then.
    template<class Work>
    void post(Work work)
    {
        QMetaObject::invokeMethod(&source_, std::move(work), Qt::QueuedConnection);
    }

    TextSource& source_;
    std::mutex mutex_;
    std::condition_variable_any wake_;
    OpenReader open_;
    quint64 generation_ = 0;
    bool reopen_ = false;
    std::deque<uint64_t> wanted_;
    std::deque<Text> texts_;
    quint64 search_ = 0;
    QString what_;      // empty: no search
    uint64_t next_ = 0; // page to be looked through
    quint64 count_ = 0;
    uint64_t behind_ = 0; // the last match
    std::vector<StreamRange> news_;
    QElapsedTimer told_;
    std::unique_ptr<PageReader> reader_;    // the thread's
    std::shared_ptr<const TextPage> ahead_; // the thread's: the page behind the one looked through
    std::jthread thread_;                   // last: it is joined before the rest goes
};

TextSource::TextSource(TextOutline outline, OpenReader open, QObject* parent)
    : QObject(parent), outline_(std::move(outline)), loader_(std::make_unique<Loader>(*this))
{
    loader_->open(generation_, std::move(open));
}

TextSource::~TextSource() = default;

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
    loader_->open(++generation_, std::move(open));
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

void TextSource::text_of(StreamRange range, QObject* context, std::function<void(const QByteArray&)> done)
{
    range.last = std::min(range.last, range.first + most_text_tokens);
    loader_->text_of(range,
                     [context = QPointer<QObject>(context), done = std::move(done)](const QByteArray& bytes) {
                         if (context) done(bytes);
                     });
}

} // namespace palimpsest::ui
