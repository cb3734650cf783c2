#include "ui/document/fade_index.h"

#include <algorithm>

#include "kernels/base/error.h"
#include "storage/conversations.h"
#include "ui/base/wording.h"

namespace palimpsest::ui {
namespace {

constexpr uint64_t max_steps = 254; // 255 is `never`

uint64_t divided_up(uint64_t a, uint64_t b)
{
    return (a + b - 1) / b;
}

} // namespace

ChunkClock::ChunkClock(const TextOutline& outline, int32_t chunk)
{
    StreamRange fed{0, 0};
    width_ = static_cast<uint64_t>(std::max(chunk, 1));
    for (const TextPart& part : outline.parts) {
        if (part.kind != PartKind::Answer) fed.last = part.range.last;
        if (part.kind == PartKind::Answer || part.kind == PartKind::Document) { // a document's end ends a chunk
            add(fed, width_);
            fed.first = fed.last;
        }
        if (part.kind == PartKind::Answer) {
            add(part.range, 1);
            fed = {part.range.last, part.range.last};
        }
    }
    add(fed, width_);
}

void ChunkClock::add(StreamRange range, uint64_t width)
{
    if (range.first >= range.last) return;
    runs_.push_back({chunks_, range.first, range.last, width});
    chunks_ += divided_up(range.last - range.first, width);
}

uint64_t ChunkClock::tokens_at(uint64_t chunks) const
{
    const auto after = std::ranges::upper_bound(runs_, chunks, {}, &Run::chunk);
    if (after == runs_.begin()) return 0;
    const Run& run = *std::prev(after);
    return std::min(run.last, run.token + (chunks - run.chunk) * run.width);
}

FadeIndex::FadeIndex(ChunkClock clock, int32_t layers, size_t max_bytes) : clock_(std::move(clock)), layers_(layers)
{
    const uint64_t wanted = tokens() * static_cast<uint64_t>(layers);
    tokens_per_cell_ = std::max<uint64_t>(1, divided_up(wanted, std::max<size_t>(max_bytes, 1)));
    chunks_per_step_ = std::max<uint64_t>(1, divided_up(divided_up(tokens(), clock_.width()), max_steps));
    tokens_per_step_ = chunks_per_step_ * clock_.width();
    steps_ = static_cast<int>(divided_up(tokens(), tokens_per_step_));
    faded_.assign(divided_up(tokens(), tokens_per_cell_) * static_cast<uint64_t>(layers), never);
}

void FadeIndex::add(std::span<const engine::EvictionEvent> events)
{
    for (const engine::EvictionEvent& event : events) {
        const bool inside =
            event.token < tokens() && event.layer >= 0 && event.layer < layers_ && event.chunk < clock_.chunks();
        if (!inside || event.token % tokens_per_cell_ != 0) continue;
        const uint64_t cell = event.token / tokens_per_cell_ * static_cast<uint64_t>(layers_);
        const uint64_t gone_by = divided_up(clock_.tokens_at(event.chunk + 1), tokens_per_step_);
        faded_[cell + static_cast<uint64_t>(event.layer)] = static_cast<uint8_t>(gone_by);
    }
}

uint64_t FadeIndex::tokens_read(int step) const
{
    return std::min(tokens(), static_cast<uint64_t>(std::max(step, 0)) * tokens_per_step_);
}

int FadeIndex::step_at(uint64_t tokens_read) const
{
    return tokens_read >= tokens() ? steps_ : static_cast<int>(tokens_read / tokens_per_step_);
}

int FadeIndex::layers_holding(uint64_t token, int step) const
{
    if (token >= tokens()) return 0;
    const uint64_t row = token / tokens_per_cell_ * static_cast<uint64_t>(layers_);
    const auto cell = faded_.begin() + static_cast<std::ptrdiff_t>(row);
    return static_cast<int>(std::count_if(cell, cell + layers_, [&](uint8_t gone_by) { return gone_by > step; }));
}

FadeRecord stored_fade_record(const QString& database, int64_t session)
{
    const auto with = [file = database.toStdString()](auto&& work) {
        storage::Database reading(file, storage::Database::Access::Read);
        return work(reading);
    };
    return {
        .read =
            [=](const FadeRecord::Each& each) {
                with([&](storage::Database& db) {
                    storage::Conversations(db).each_fade_record_block(session, each);
                });
            },
        .mark =
            [=] { return with([&](storage::Database& db) { return storage::fade_record_mark(db, session); }); }};
}

void FadeRecordLoader::forget()
{
    ++number_;
    thread_.request_stop();
    built_.reset();
}

void FadeRecordLoader::build(FadeRecord record, ChunkClock clock, int32_t layers)
{
    thread_.request_stop();
    // The new thread joins the old one, so that the window does not block.
    thread_ = std::jthread([=, this, number = ++number_, known = built_, record = std::move(record),
                            wanted = Built{.mark = {}, .clock = std::move(clock), .layers = layers},
                            old = std::move(thread_)](const std::stop_token& stop) mutable {
        if (old.joinable()) old.join();
        run(stop, record, std::move(wanted), known, number);
    });
}

void FadeRecordLoader::run(const std::stop_token& stop, const FadeRecord& record, Built wanted,
                           const std::optional<Built>& known, quint64 number)
{
    const auto post = [this, number](auto tell) {
        QMetaObject::invokeMethod(
            this,
            [=, this] {
                if (number == number_) tell();
            },
            Qt::QueuedConnection);
    };
    try {
        wanted.mark = record.mark();
        if (known == wanted) return;
        const auto index = std::make_shared<FadeIndex>(wanted.clock, wanted.layers);
        record.read([&](std::span<const engine::EvictionEvent> events) {
            index->add(events);
            return !stop.stop_requested();
        });
        if (stop.stop_requested()) return;
        post([this, index, wanted] {
            built_ = wanted;
            Q_EMIT built(std::shared_ptr<const FadeIndex>(index));
        });
    } catch (const std::exception& error) {
        post([this, sentence = shown(error)] {
            built_.reset();
            Q_EMIT failed(sentence);
        });
    }
}

} // namespace palimpsest::ui
