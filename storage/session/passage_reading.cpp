#include "storage/session/passage_reading.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <string>

#include "engine/text/sentences.h"
#include "kernels/base/error.h"
#include "storage/passage_index.h"
#include "storage/passages/passage_vectors.h"

namespace palimpsest::storage {
namespace {

// Beside cosines; chosen on books of the training split (docs/quality.md).
constexpr double weight_of_best_sentence = 0.09;
constexpr size_t windows_read = 2; // of a passage
constexpr size_t sentences_without_windows = 4;

// The sentences of passages.
struct PassageSentences {
    std::vector<std::string> texts;           // of the passages; of damaged ones none
    std::vector<engine::SentenceInPlace> all; // refer to the texts
    std::vector<size_t> passages;             // of each sentence
};

// Whether each sentence is read: those in the nearest windows. Without embeddings of all windows the first few.
std::vector<bool> are_read(const std::vector<engine::TextRange>& sentences, const std::vector<double>& cosines)
{
    std::vector<bool> read(sentences.size());
    const auto windows = PassageEncoder::windows_of(sentences);
    if (cosines.size() != windows.size()) {
        std::fill_n(read.begin(), std::min(sentences.size(), sentences_without_windows), true);
        return read;
    }
    std::vector<size_t> order(windows.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return cosines[a] > cosines[b]; });
    for (const size_t window : std::span(order).first(std::min(order.size(), windows_read)))
        for (size_t s = 0; s < sentences.size(); ++s)
            if (sentences[s].begin < windows[window].end && windows[window].begin < sentences[s].end)
                read[s] = true;
    return read;
}

PassageSentences sentences_of(std::span<const PassageHit> hits, const QuestionMeaning& meaning, Store& store)
{
    PassageSentences found;
    found.texts.resize(hits.size());
    PassageIndex index(store.database);
    PassageVectors vectors(store.database);
    for (size_t i = 0; i < hits.size(); ++i) {
        try {
            found.texts[i] = index.text(hits[i].passage);
        } catch (const Error& error) {
            if (error.code() != ErrorCode::DamagedDocument) throw;
        }
        const std::string_view text = found.texts[i];
        const auto ranges = engine::sentences(text);
        const StoredPassage& passage = hits[i].passage;
        const auto read =
            are_read(ranges, vectors.windows(passage.document, passage.index, meaning.encoder, meaning.embedding));
        for (size_t s = 0; s < ranges.size(); ++s) {
            if (!read[s]) continue;
            const size_t before = ranges[s - std::min<size_t>(s, 2)].begin;
            found.all.push_back({ranges[s].in(text), text.substr(before, ranges[s].begin - before)});
            found.passages.push_back(i);
        }
    }
    return found;
}

// For each passage the weighted score of its best sentence, less the mean of these; 0 for one without sentences.
std::vector<double> gains_of(std::span<const float> scores, const PassageSentences& sentences)
{
    std::vector<double> gains(sentences.texts.size());
    std::vector<bool> has(gains.size());
    for (size_t i = 0; i < scores.size(); ++i) {
        double& gain = gains[sentences.passages[i]];
        const double score = weight_of_best_sentence * static_cast<double>(scores[i]);
        gain = has[sentences.passages[i]] ? std::max(gain, score) : score;
        has[sentences.passages[i]] = true;
    }
    const auto count = static_cast<double>(std::count(has.begin(), has.end(), true));
    const double mean = std::accumulate(gains.begin(), gains.end(), 0.0) / std::max(1.0, count);
    for (size_t i = 0; i < gains.size(); ++i)
        gains[i] = has[i] ? gains[i] - mean : 0;
    return gains;
}

} // namespace

std::vector<PassageHit> ranked_by_reading(std::vector<PassageHit> hits, const Question& question,
                                          const QuestionMeaning& meaning, PassageEncoder& encoder, Store& store,
                                          const std::stop_token& stop)
{
    if (hits.size() < 2 || !encoder.reads_sentences() || stop.stop_requested()) return hits;
    const std::span<PassageHit> best(hits.data(), std::min(hits.size(), most_read));
    const PassageSentences sentences = sentences_of(best, meaning, store);
    const std::vector<float> scores = encoder.scores(question, sentences.all, stop);
    if (scores.empty()) return hits;
    const std::vector<double> gains = gains_of(scores, sentences);
    for (size_t i = 0; i < best.size(); ++i)
        best[i].score += gains[i];
    std::stable_sort(best.begin(), best.end(),
                     [](const PassageHit& a, const PassageHit& b) { return a.score > b.score; });
    return hits;
}

} // namespace palimpsest::storage
