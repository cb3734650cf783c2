// The fading record made ready to be replayed: at any time, how many layers still held a token.
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

#include "engine/cache/fading.h"
#include "storage/fading_mark.h"
#include "ui/document/text_outline.h"

namespace palimpsest::ui {

// Chunks to tokens and back: what is fed goes in chunks, an answer's tokens go one by one.
class ChunkClock {
public:
    ChunkClock() = default;
    ChunkClock(const TextOutline& outline, int32_t chunk);

    uint64_t chunks() const { return chunks_; }
    uint64_t tokens() const { return runs_.empty() ? 0 : runs_.back().last; }
    uint64_t width() const { return width_; }  // tokens of a chunk that is fed
    uint64_t tokens_at(uint64_t chunks) const; // read when so many chunks were done
    bool operator==(const ChunkClock&) const = default;

private:
    struct Run {
        uint64_t chunk, token, last, width; // the first chunk and token, the token behind, tokens of a chunk
        bool operator==(const Run&) const = default;
    };
    void add(StreamRange range, uint64_t width);
    std::vector<Run> runs_;
    uint64_t chunks_ = 0, width_ = 1;
};

// A byte for each layer and cell: the step of time by which the layer had let go. Time goes in tokens read, in
// steps of a chunk, or of several where a byte does not tell them all apart. Where a byte for every token would
// take more than `most_bytes`, one token stands for its neighbours. What it says of a step and of a token that
// stands for itself is exact.
class FadingIndex {
public:
    static constexpr size_t default_bytes = size_t{128} << 20;

    FadingIndex(ChunkClock clock, int32_t layers, size_t most_bytes = default_bytes);
    void add(std::span<const engine::FadeEvent> events); // in any order; of what lies outside, nothing is kept

    uint64_t tokens() const { return clock_.tokens(); }
    int32_t layers() const { return layers_; }
    int steps() const { return steps_; }     // times are 0 ... steps()
    uint64_t tokens_read(int step) const;    // at that time
    int step_at(uint64_t tokens_read) const; // the latest that is not behind it
    uint64_t tokens_per_cell() const { return tokens_per_cell_; }
    uint64_t chunks_per_step() const { return chunks_per_step_; }
    size_t bytes() const { return faded_.size(); }

    // How many layers still held the token at that time, as if it had been read by then. O(layers).
    int layers_holding(uint64_t token, int step) const;

private:
    static constexpr uint8_t never = 255;

    ChunkClock clock_;
    uint64_t tokens_per_cell_ = 1, chunks_per_step_ = 1, tokens_per_step_ = 1;
    int32_t layers_;
    int steps_ = 0;
    std::vector<uint8_t> faded_; // [cell, layer]
};

// Both are called on a thread of their own and may throw Error.
struct FadingRecord {
    using Each = std::function<bool(std::span<const engine::FadeEvent>)>;
    std::function<void(const Each&)> read;     // hands all events over, in pieces, until told to stop by false
    std::function<storage::FadingMark()> mark; // the same only while the record is
};

// Of a session in the user's database, through a connection of its own.
FadingRecord stored_fading(const QString& database, int64_t session);

// Builds an index on a thread of its own; the next build, or the end of this object, stops the one under way. What
// was built last is not built again.
class FadingLoader : public QObject {
    Q_OBJECT
public:
    explicit FadingLoader(QObject* parent = nullptr) : QObject(parent) {}
    void build(FadingRecord record, ChunkClock clock, int32_t layers);
    void forget(); // what was built; nothing comes of a build under way

Q_SIGNALS:
    void built(std::shared_ptr<const palimpsest::ui::FadingIndex> index);
    void failed(const QString& sentence);

private:
    struct Built {
        storage::FadingMark mark;
        ChunkClock clock;
        int32_t layers = 0;
        bool operator==(const Built&) const = default;
    };
    void run(const std::stop_token& stop, const FadingRecord& record, Built wanted,
             const std::optional<Built>& known, quint64 number);

    quint64 number_ = 0;
    std::optional<Built> built_;
    std::jthread thread_;
};

} // namespace palimpsest::ui
