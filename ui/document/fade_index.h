// An index of the fade record for the time bar: how many layers still kept a token at a past time.
#pragma once

#include <QObject>
#include <QString>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "engine/cache/eviction_events.h"
#include "storage/fade_record_mark.h"
#include "ui/document/text_outline.h"

namespace palimpsest::ui {

// Converts chunks to tokens: input is computed in chunks, an answer token by token.
class ChunkClock {
public:
    ChunkClock() = default;
    ChunkClock(const TextOutline& outline, int32_t chunk);

    uint64_t chunks() const { return chunks_; }
    uint64_t tokens() const { return runs_.empty() ? 0 : runs_.back().last; }
    uint64_t width() const { return width_; }  // tokens per chunk of input
    uint64_t tokens_at(uint64_t chunks) const; // tokens read after `chunks` chunks
    bool operator==(const ChunkClock&) const = default;

private:
    struct Run {
        uint64_t chunk, token, last, width; // first chunk, first token, end token, tokens per chunk
        bool operator==(const Run&) const = default;
    };
    void add(StreamRange range, uint64_t width);
    std::vector<Run> runs_;
    uint64_t chunks_ = 0, width_ = 1;
};

// Stores one byte per token and layer: the step by which the layer had dropped the token. A step is one chunk of
// tokens read, or several if a byte cannot number all chunks. If that exceeds `max_bytes`, each cell of
// tokens_per_cell() neighbouring tokens has only the bytes of its first token. With cells of one token, the index
// is exact to the step.
class FadeIndex {
public:
    static constexpr size_t default_bytes = size_t{128} << 20;

    FadeIndex(ChunkClock clock, int32_t layers, size_t max_bytes = default_bytes);
    void add(std::span<const engine::EvictionEvent> events); // in any order; events out of range are ignored

    uint64_t tokens() const { return clock_.tokens(); }
    int32_t layers() const { return layers_; }
    int steps() const { return steps_; }     // times are 0 ... steps()
    uint64_t tokens_read(int step) const;    // at time `step`
    int step_at(uint64_t tokens_read) const; // the last step at or before `tokens_read`
    uint64_t tokens_per_cell() const { return tokens_per_cell_; }
    uint64_t chunks_per_step() const { return chunks_per_step_; }
    size_t bytes() const { return faded_.size(); }

    // Returns how many layers still kept the token at time `step`. A token that was not read by then counts as kept
    // by all layers. O(layers).
    int layers_holding(uint64_t token, int step) const;

private:
    static constexpr uint8_t never = 255;

    ChunkClock clock_;
    uint64_t tokens_per_cell_ = 1, chunks_per_step_ = 1, tokens_per_step_ = 1;
    int32_t layers_;
    int steps_ = 0;
    std::vector<uint8_t> faded_; // [cell, layer]
};

// Reads a fade record. Both functions are called on a worker thread and may throw Error.
struct FadeRecord {
    using Each = std::function<bool(std::span<const engine::EvictionEvent>)>;
    std::function<void(const Each&)> read;         // passes all events in batches, until Each returns false
    std::function<storage::FadeRecordMark()> mark; // changes when the record changes
};

// The fade record of a session in the database, read through a separate connection.
FadeRecord stored_fade_record(const QString& database, int64_t session);

// Builds an index on a worker thread. The next build(), or the destructor, stops a running build. A build() of the
// record, outline and layers of the last index does nothing.
class FadeRecordLoader : public QObject {
    Q_OBJECT
public:
    explicit FadeRecordLoader(QObject* parent = nullptr) : QObject(parent) {}
    void build(FadeRecord record, ChunkClock clock, int32_t layers);
    void forget(); // forgets the last index and ignores a running build

Q_SIGNALS:
    void built(std::shared_ptr<const palimpsest::ui::FadeIndex> index);
    void failed(const QString& sentence);

private:
    struct Built {
        storage::FadeRecordMark mark;
        ChunkClock clock;
        int32_t layers = 0;
        bool operator==(const Built&) const = default;
    };
    void run(const std::stop_token& stop, const FadeRecord& record, Built wanted, const std::optional<Built>& known,
             quint64 number);

    quint64 number_ = 0;
    std::optional<Built> built_;
    std::jthread thread_;
};

} // namespace palimpsest::ui
