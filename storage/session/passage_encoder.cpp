#include "storage/session/passage_encoder.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "engine/text/sentences.h"
#include "kernels/base/error.h"
#include "storage/passage_index.h"
#include "storage/passages/passage_vectors.h"

namespace palimpsest::storage {
namespace {

constexpr int64_t passages_at_once = 16;
constexpr size_t window_bytes = 130; // about 30 tokens; chosen on books of the training split (docs/quality.md)

// The windows of all passages, and how many each passage has.
struct Windows {
    std::vector<std::string> texts; // of passages
    std::vector<std::string_view> windows;
    std::vector<size_t> counts;
};

Windows all_windows(PassageIndex& index, std::span<const StoredPassage> passages)
{
    Windows all;
    all.texts.reserve(passages.size()); // the windows refer to them
    for (const StoredPassage& passage : passages) {
        const std::string& text = all.texts.emplace_back(index.text(passage));
        const auto windows = PassageEncoder::windows_of(engine::sentences(text));
        for (const engine::TextRange& window : windows)
            all.windows.push_back(window.in(text));
        if (windows.empty()) all.windows.emplace_back(); // a passage of white space
        all.counts.push_back(std::max<size_t>(1, windows.size()));
    }
    return all;
}

// The last line that is not blank.
std::string_view last_line(std::string_view text)
{
    const size_t end = text.find_last_not_of(" \t\r\n") + 1;
    text = text.substr(0, end);
    return text.substr(text.rfind('\n') + 1);
}

} // namespace

std::vector<engine::TextRange> PassageEncoder::windows_of(const std::vector<engine::TextRange>& sentences)
{
    return engine::sentence_windows(sentences, window_bytes);
}

kernels::Backend* shared_by_encoder(const engine::Model& model)
{
    return model.backend().name() == "cpu" ? &model.backend() : nullptr;
}

PassageEncoder::PassageEncoder(const std::filesystem::path& folder, kernels::Backend* backend)
    : own_(backend ? nullptr : kernels::open_backend({.device = "cpu", .threads = 0, .simd = ""})),
      encoder_(engine::SentenceEncoder::open(folder, backend ? *backend : *own_))
{
}

int64_t PassageEncoder::missing(Database& database, int64_t document)
{
    return database.guarded([&]() -> int64_t {
        auto query = database.statement("SELECT passages FROM indexed_documents WHERE document = ?");
        query.bind(1, document);
        if (!query.executeStep()) return 0;
        return query.getColumn(0).getInt64() - PassageVectors(database).count(document, identity());
    });
}

bool PassageEncoder::has_many(Database& database, int64_t document, uint64_t end)
{
    const int64_t encoded = PassageVectors(database).count(document, identity());
    const auto last = PassageIndex(database).get(document, encoded + passages_at_once - 1);
    return last && last->end_token <= end;
}

bool PassageEncoder::encode(Database& database, int64_t document, uint64_t end, const std::stop_token& stop,
                            int64_t most)
{
    PassageIndex index(database);
    PassageVectors vectors(database);
    for (int64_t encoded = 0; encoded < most && missing(database, document) > 0;) {
        std::vector<StoredPassage> passages;
        for (int64_t i = vectors.count(document, identity()); std::ssize(passages) < passages_at_once; ++i) {
            const auto passage = index.get(document, i);
            if (!passage || passage->end_token > end) break;
            passages.push_back(*passage);
        }
        if (passages.empty()) return true;
        encoded += std::ssize(passages);
        const Windows all = all_windows(index, passages);
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
    }
    return true;
}

QuestionMeaning PassageEncoder::meaning_of(const Question& question, const std::stop_token& stop)
{
    const double weight = question.weight_of_before();
    const std::string_view texts[] = {question.text, question.before};
    std::vector<float> all = encode(std::span(texts).first(weight > 0 ? 2 : 1), stop);
    if (weight == 0 || all.empty()) return {.encoder = identity(), .embedding = std::move(all)};
    const auto width = static_cast<size_t>(encoder_->width());
    double squares = 0;
    for (size_t i = 0; i < width; ++i) {
        all[i] += static_cast<float>(weight) * all[width + i];
        squares += static_cast<double>(all[i]) * all[i];
    }
    all.resize(width);
    for (float& number : all)
        number = static_cast<float>(number / std::sqrt(std::max(squares, 1e-30)));
    return {.encoder = identity(), .embedding = std::move(all)};
}

std::vector<float> PassageEncoder::scores(const Question& question,
                                          std::span<const engine::SentenceInPlace> sentences,
                                          const std::stop_token& stop)
try {
    if (!reader_ || sentences.empty()) return {};
    std::string asked(question.text);
    if (question.refers_back()) asked.append(" ").append(last_line(question.before));
    return reader_->scores(asked, sentences, stop);
} catch (const Error& error) {
    reader_.reset();
    reading_failed_(error);
    return {};
}

} // namespace palimpsest::storage
