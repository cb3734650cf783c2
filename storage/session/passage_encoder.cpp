#include "storage/session/passage_encoder.h"

#include <algorithm>
#include <span>

#include "engine/text/sentences.h"
#include "storage/passage_index.h"
#include "storage/passages/passage_vectors.h"

namespace palimpsest::storage {
namespace {

constexpr size_t passages_at_once = 16;
constexpr size_t window_bytes = 130; // about 30 tokens; chosen on books of the training split (docs/quality.md)

// The windows of all passages, and how many each passage has.
struct Windows {
    std::vector<std::string> texts; // of passages
    std::vector<std::string_view> windows;
    std::vector<size_t> counts;
};

Windows windows_of(PassageIndex& index, std::span<const StoredPassage> passages)
{
    Windows all;
    all.texts.reserve(passages.size()); // the windows refer to them
    for (const StoredPassage& passage : passages) {
        const std::string& text = all.texts.emplace_back(index.text(passage));
        const auto windows = engine::sentence_windows(engine::sentences(text), window_bytes);
        for (const engine::TextRange& window : windows)
            all.windows.push_back(window.in(text));
        if (windows.empty()) all.windows.emplace_back(); // a passage of white space
        all.counts.push_back(std::max<size_t>(1, windows.size()));
    }
    return all;
}

} // namespace

kernels::Backend* shared_by_encoder(const engine::Model& model)
{
    return model.backend().name() == "cpu" ? &model.backend() : nullptr;
}

PassageEncoder::PassageEncoder(const std::filesystem::path& folder, kernels::Backend* backend)
    : own_(backend ? nullptr : kernels::open_backend({.device = "cpu", .threads = 0, .simd = ""})),
      encoder_(engine::SentenceEncoder::open(folder, backend ? *backend : *own_))
{
}

int64_t PassageEncoder::missing(Database& database, int64_t document, uint64_t end)
{
    return database.guarded([&]() -> int64_t {
        auto query = database.statement("SELECT count(*) FROM passages WHERE document = ? AND end_token <= ?");
        query.bind(1, document);
        query.bind(2, static_cast<int64_t>(std::min<uint64_t>(end, INT64_MAX)));
        query.executeStep();
        return query.getColumn(0).getInt64() - PassageVectors(database).count(document, identity());
    });
}

bool PassageEncoder::encode(Database& database, int64_t document, uint64_t end, const std::stop_token& stop)
{
    PassageIndex index(database);
    PassageVectors vectors(database);
    for (int64_t left = missing(database, document, end); left > 0;) {
        std::vector<StoredPassage> passages;
        const int64_t first = vectors.count(document, identity());
        for (int64_t i = first; i < first + std::min<int64_t>(left, passages_at_once); ++i)
            if (const auto passage = index.get(document, i)) passages.push_back(*passage);
        if (passages.empty()) return true;
        const Windows all = windows_of(index, passages);
        const std::vector<float> embeddings = encoder_->encode(all.windows, stop);
        if (embeddings.empty()) return false;
        const auto width = static_cast<size_t>(encoder_->width());
        database.transaction([&] {
            size_t at = 0;
            for (const size_t count : all.counts) {
                vectors.append(document, identity(), std::span(embeddings).subspan(at * width, count * width),
                               width);
                at += count;
            }
        });
        left -= static_cast<int64_t>(passages.size());
    }
    return true;
}

std::vector<float> PassageEncoder::question(std::string_view text, const std::stop_token& stop)
{
    const std::string_view texts[] = {text};
    return encoder_->encode(texts, stop);
}

} // namespace palimpsest::storage
