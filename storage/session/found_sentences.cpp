#include "storage/session/found_sentences.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "engine/text/sentences.h"
#include "kernels/base/error.h"
#include "storage/passage_index.h"
#include "storage/passages/named_things.h"
#include "storage/passages/passage_places.h"
#include "storage/passages/word_overlap.h"
#include "storage/passages/word_query.h"

namespace palimpsest::storage {
namespace {

constexpr double weight_of_previous = 0.7, weight_of_answer = 0.5, weight_of_kind = 0.3;
constexpr double weight_of_reading = 0.1;

constexpr size_t max_encoded = 256, max_read = 32; // sentences
constexpr size_t max_question_bytes = 4096;        // of which every word and name is looked up in every sentence
constexpr size_t max_excerpts = 2;                 // chosen on books of the training split (docs/quality.md)

// Whether the question, in English, has a word that asks for a name. The words are in small letters.
bool asks_for_name(const std::vector<std::string_view>& words)
{
    constexpr std::array<std::string_view, 5> asking = {"who", "whom", "whose", "where", "name"};
    return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
        return std::find(asking.begin(), asking.end(), word) != asking.end();
    });
}

bool asks_for_number(const std::vector<std::string_view>& words)
{
    constexpr std::array<std::string_view, 8> measures = {"many", "much",  "long", "old",
                                                          "far",  "often", "high", "tall"};
    for (size_t i = 0; i < words.size(); ++i) {
        if (words[i] == "when" || words[i] == "year" || words[i] == "age") return true;
        const bool is_measured = i > 0 && words[i - 1] == "how" &&
                                 std::find(measures.begin(), measures.end(), words[i]) != measures.end();
        if (is_measured) return true;
    }
    return false;
}

std::vector<std::string_view> split_words(std::string_view small)
{
    std::vector<std::string_view> words;
    for (size_t at = 0; at < small.size();) {
        const size_t end = std::min(small.find_first_not_of("abcdefghijklmnopqrstuvwxyz", at), small.size());
        if (end > at) words.push_back(small.substr(at, end - at));
        at = end + 1;
    }
    return words;
}

std::vector<size_t> best_first(const std::vector<double>& scores)
{
    std::vector<size_t> order(scores.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return scores[a] > scores[b]; });
    return order;
}

} // namespace

FoundSentences::FoundSentences(const Rereading& found, const Question& question, Store& store,
                               PassageEncoder* encoder, const std::stop_token& stop)
    : store_(store), question_(question.text.substr(0, max_question_bytes)), asked_(word_query(question_).words)
{
    try {
        add_passages(found);
    } catch (const Error& error) {
        if (error.code() != ErrorCode::DamagedDocument) throw;
        passages_.clear();
    }
    PassagePlaces places(store_.library);
    for (const Passage& passage : passages_)
        split(passage, places);
    auto by_words = word_overlap(asked_, texts());
    const auto by_kind = kind_scores(),
               by_before = word_overlap(word_query(question.before.substr(0, max_question_bytes)).words, texts());
    for (size_t i = 0; i < all_.size(); ++i)
        by_words[i] += question.weight_of_before() * by_before[i];
    for (size_t i = 0; i < all_.size(); ++i) {
        const double previous = all_[i].follows ? weight_of_previous * by_words[i - 1] : 0;
        of_question_.push_back(by_words[i] + previous + weight_of_kind * by_kind[i]);
    }
    if (!encoder || all_.empty()) return;
    add_meaning({question_, question.before}, *encoder, stop);
    add_reading({question_, question.before}, *encoder, stop);
}

void FoundSentences::add_passages(const Rereading& found)
{
    PassageIndex index(store_.database);
    for (const auto* passages : {&found.read, &found.held})
        for (const FoundPassage& passage : *passages)
            passages_.push_back({passage.passage, index.text(passage.passage)});
}

// A heading says what a section is about, not what is asked.
void FoundSentences::split(const Passage& passage, PassagePlaces& places)
{
    const Section* section = places.section(passage.place);
    const std::string_view heading = section ? std::string_view(section->title) : std::string_view();
    bool follows = false;
    for (const engine::TextRange& range : engine::sentences(passage.text)) {
        if (heading.find(range.in(passage.text)) != std::string_view::npos) continue;
        all_.push_back({&passage, range.begin, range.in(passage.text), follows});
        follows = true;
    }
}

std::vector<std::string_view> FoundSentences::texts() const
{
    std::vector<std::string_view> texts(all_.size());
    std::transform(all_.begin(), all_.end(), texts.begin(), [](const Sentence& one) { return one.text; });
    return texts;
}

bool FoundSentences::has_passage_with(std::string_view words) const
{
    return std::any_of(passages_.begin(), passages_.end(),
                       [&](const Passage& passage) { return has_words(passage.text, words); });
}

// 1 for a sentence with a name or a number, as asked, that the question does not have.
std::vector<double> FoundSentences::kind_scores() const
{
    std::string small(question_);
    std::transform(small.begin(), small.end(), small.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    const auto words = split_words(small);
    const bool name = asks_for_name(words), number = asks_for_number(words);
    const auto has_new = [&](const std::vector<std::string>& things) {
        return std::any_of(things.begin(), things.end(),
                           [&](const auto& thing) { return !has_words(question_, thing); });
    };
    std::vector<double> scores;
    for (const Sentence& sentence : all_) {
        const bool is_asked =
            (name && has_new(names_in(sentence.text))) || (number && has_new(numbers_in(sentence.text)));
        scores.push_back(is_asked ? 1 : 0);
    }
    return scores;
}

std::vector<size_t> FoundSentences::best_few(size_t most) const
{
    std::vector<size_t> best = best_first(of_question_);
    best.resize(std::min(best.size(), most));
    return best;
}

// The cosine of the question and the sentence, and of the question and the sentence with the one before it.
void FoundSentences::add_meaning(const Question& question, PassageEncoder& encoder, const std::stop_token& stop)
try {
    const std::vector<size_t> best = best_few(max_encoded);
    std::vector<std::string> pairs;
    pairs.reserve(best.size());
    for (const size_t i : best)
        pairs.push_back(all_[i].follows ? std::string(all_[i - 1].text) + " " + std::string(all_[i].text)
                                        : std::string(all_[i].text));
    std::vector<std::string_view> texts;
    for (size_t k = 0; k < best.size(); ++k) {
        texts.push_back(all_[best[k]].text);
        texts.emplace_back(pairs[k]);
    }
    const std::vector<float> asked = encoder.meaning_of(question, stop).embedding;
    const std::vector<float> encoded = encoder.encode(texts, stop);
    if (asked.empty() || encoded.empty()) return;
    const auto cosine = [&](size_t text) {
        return std::inner_product(asked.begin(), asked.end(),
                                  encoded.begin() + static_cast<std::ptrdiff_t>(text * asked.size()), 0.0);
    };
    for (size_t k = 0; k < best.size(); ++k)
        of_question_[best[k]] += cosine(2 * k) + cosine(1 + 2 * k);
} catch (const Error&) { // the encoder has failed: words and kind are left
}

// How much better than the others the sentence, read together with the question, answers it.
void FoundSentences::add_reading(const Question& question, PassageEncoder& encoder, const std::stop_token& stop)
{
    const std::vector<size_t> best = best_few(max_read);
    std::vector<engine::SentenceInPlace> sentences;
    sentences.reserve(best.size());
    for (const size_t i : best) {
        size_t first = i;
        while (all_[first].follows && first + 2 > i)
            --first;
        sentences.push_back({all_[i].text, {all_[first].text.data(), all_[i].text.data()}});
    }
    const std::vector<float> scores = encoder.scores(question, sentences, stop);
    const double mean = std::accumulate(scores.begin(), scores.end(), 0.0) /
                        static_cast<double>(std::max<size_t>(1, scores.size()));
    for (size_t k = 0; k < scores.size(); ++k)
        of_question_[best[k]] += weight_of_reading * (static_cast<double>(scores[k]) - mean);
}

std::vector<double> FoundSentences::scores(std::string_view answer) const
{
    std::vector<std::string> said = word_query(answer).words;
    std::erase_if(said, [&](const std::string& word) {
        return std::find(asked_.begin(), asked_.end(), word) != asked_.end();
    });
    const auto by_answer = word_overlap(said, texts());
    std::vector<double> scores = of_question_;
    for (size_t i = 0; i < scores.size(); ++i)
        scores[i] += weight_of_answer * by_answer[i];
    return scores;
}

Quote FoundSentences::quote(size_t first, size_t last) const
{
    const Sentence &begin = all_[first], &end = all_[last];
    return quote_from(begin.passage->place, begin.passage->text, begin.first_byte, end.first_byte + end.text.size(),
                      store_);
}

Quote FoundSentences::best(std::string_view answer) const
{
    const std::vector<double> all = scores(answer);
    const auto best = static_cast<size_t>(std::max_element(all.begin(), all.end()) - all.begin());
    return quote(best, best);
}

std::vector<Quote> FoundSentences::excerpts() const
try {
    std::vector<size_t> order = best_first(of_question_);
    order.resize(std::min(order.size(), max_excerpts));
    std::vector<std::pair<size_t, size_t>> windows; // first and last sentence
    for (const size_t sentence : order) {
        const bool has_next = sentence + 1 < all_.size() && all_[sentence + 1].follows;
        std::pair<size_t, size_t> window(sentence - (all_[sentence].follows ? 1 : 0),
                                         sentence + (has_next ? 1 : 0));
        const auto touched = std::find_if(windows.begin(), windows.end(), [&](const auto& other) {
            return window.first <= other.second + 1 && other.first <= window.second + 1 &&
                   all_[other.first].passage == all_[window.first].passage;
        });
        if (touched == windows.end())
            windows.push_back(window);
        else
            *touched = {std::min(touched->first, window.first), std::max(touched->second, window.second)};
    }
    std::vector<Quote> excerpts;
    excerpts.reserve(windows.size());
    for (const auto& [first, last] : windows)
        excerpts.push_back(quote(first, last));
    return excerpts;
} catch (const Error& error) {
    if (error.code() != ErrorCode::DamagedDocument) throw;
    return {};
}

} // namespace palimpsest::storage
