#include "storage/notes/telling_sentences.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "storage/passages/named_things.h"
#include "storage/passages/word_query.h"
#include "storage/passages/words.h"

namespace palimpsest::storage {
namespace {

constexpr size_t least_words = 8, most_words = 40, most_sentences = 1000;
constexpr double weight_of_names = 1.5;
constexpr double the_same = 0.4; // cosine above which one sentence says mostly what another does

using Weights = std::map<std::string, double>; // by stem

struct Sentence {
    engine::TextRange range;
    size_t words = 0;
    bool is_told = false;   // no speech, no question
    bool has_names = false; // of people and places, for which one reads
    Weights weights;        // length 1, or empty
};

bool is_whole(std::string_view sentence)
{
    const auto first = sentence.find_first_not_of("\"'(\xE2\x80\x9C\x98_");
    return first != std::string_view::npos && !(sentence[first] >= 'a' && sentence[first] <= 'z') &&
           sentence.find_first_of(".!?") != std::string_view::npos;
}

size_t count(std::string_view text, std::string_view mark)
{
    size_t found = 0;
    for (size_t at = text.find(mark); at != std::string_view::npos; at = text.find(mark, at + mark.size()))
        ++found;
    return found;
}

// Whether the sentence is no question and no speech, not even one within a longer speech of its paragraph.
bool is_told(std::string_view text, const engine::TextRange& range)
{
    const std::string_view sentence = range.in(text);
    const size_t gap = text.substr(0, range.begin).rfind("\n\n");
    const size_t paragraph = gap == std::string_view::npos ? 0 : gap;
    const std::string_view before = text.substr(paragraph, range.begin - paragraph);
    const bool is_in_speech = count(before, "\"") % 2 == 1 || count(before, "\u201c") > count(before, "\u201d");
    return !is_in_speech && !sentence.ends_with('?') && count(sentence, "\"") == 0 &&
           count(sentence, "\u201c") == 0 && count(sentence, "\u201d") == 0;
}

std::vector<Sentence> sentences_of(std::string_view text)
{
    std::vector<Sentence> all;
    for (const engine::TextRange& range : engine::sentences(text)) {
        const auto words = words_in(range.in(text));
        if (words.size() < least_words || words.size() > most_words || !is_whole(range.in(text))) continue;
        Sentence sentence{.range = range,
                          .words = words.size(),
                          .is_told = is_told(text, range),
                          .has_names = !names_in(range.in(text)).empty(),
                          .weights = {}};
        for (const std::string_view word : words) {
            const std::string plain = plain_word(word);
            if (!is_function_word(plain)) sentence.weights[rough_stem(plain)] += 1;
        }
        all.push_back(std::move(sentence));
        if (all.size() == most_sentences) break;
    }
    return all;
}

// Multiplies by ln(N / n) for a stem in n of N sentences, and scales to length 1.
void weigh(std::vector<Sentence>& sentences)
{
    std::map<std::string, size_t> in_sentences;
    for (const Sentence& sentence : sentences)
        for (const auto& [stem, count] : sentence.weights)
            ++in_sentences[stem];
    for (Sentence& sentence : sentences) {
        double squares = 0;
        for (auto& [stem, weight] : sentence.weights) {
            weight *= std::log(static_cast<double>(sentences.size()) / static_cast<double>(in_sentences[stem]));
            squares += weight * weight;
        }
        if (squares == 0) sentence.weights.clear();
        for (auto& [stem, weight] : sentence.weights)
            weight /= std::sqrt(squares);
    }
}

double cosine(const Weights& a, const Weights& b)
{
    double sum = 0;
    for (auto i = a.begin(), j = b.begin(); i != a.end() && j != b.end();) {
        if (i->first == j->first)
            sum += i++->second * j++->second;
        else if (i->first < j->first)
            ++i;
        else
            ++j;
    }
    return sum;
}

// Row-major, [sentences, sentences].
std::vector<double> cosines(const std::vector<Sentence>& sentences)
{
    const size_t count = sentences.size();
    std::vector<double> all(count * count);
    for (size_t i = 0; i < count; ++i)
        for (size_t j = 0; j <= i; ++j)
            all[i * count + j] = all[j * count + i] = cosine(sentences[i].weights, sentences[j].weights);
    return all;
}

// Returns for each sentence the sum of its cosines with all others. (The paper's degree centrality counts the
// cosines above a threshold.)
std::vector<double> centrality(const std::vector<double>& similar, size_t count)
{
    std::vector<double> sums(count);
    for (size_t i = 0; i < count; ++i)
        for (size_t j = 0; j < count; ++j)
            if (j != i) sums[i] += similar[i * count + j];
    return sums;
}

} // namespace

std::vector<engine::TextRange> telling_sentences(std::string_view text, size_t most, size_t max_words)
{
    std::vector<Sentence> sentences = sentences_of(text);
    weigh(sentences);
    const size_t count = sentences.size();
    const auto similar = cosines(sentences);
    auto central = centrality(similar, count);
    for (size_t i = 0; i < count; ++i)
        if (sentences[i].has_names) central[i] *= weight_of_names;
    std::vector<size_t> order(count), chosen;
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
        return std::pair(sentences[a].is_told, central[a]) > std::pair(sentences[b].is_told, central[b]);
    });
    size_t words = 0;
    for (const size_t i : order) {
        if (chosen.size() == most) break;
        const auto says_the_same = [&](size_t other) { return similar[i * count + other] > the_same; };
        if (words + sentences[i].words > max_words || std::any_of(chosen.begin(), chosen.end(), says_the_same))
            continue;
        chosen.push_back(i);
        words += sentences[i].words;
    }
    std::sort(chosen.begin(), chosen.end());
    std::vector<engine::TextRange> ranges;
    for (const size_t i : chosen)
        ranges.push_back(sentences[i].range);
    return ranges;
}

std::string quoted(std::string_view text, const std::vector<engine::TextRange>& sentences, size_t max_words)
{
    std::string all;
    const auto add = [&](std::string_view part) {
        for (const char c : part) {
            const bool is_space = static_cast<unsigned char>(c) <= ' ';
            if (!is_space || (!all.empty() && all.back() != ' ')) all += is_space ? ' ' : c;
        }
    };
    for (size_t i = 0; i < sentences.size(); ++i) {
        if (i > 0) {
            const auto between = text.substr(sentences[i - 1].end, sentences[i].begin - sentences[i - 1].end);
            const auto is_mark = [](char c) { return static_cast<unsigned char>(c) > ' '; };
            all += std::any_of(between.begin(), between.end(), is_mark) ? " ... " : " ";
        }
        add(sentences[i].in(text));
    }
    if (!sentences.empty()) return all;
    const size_t end = end_of_words(text, max_words);
    add(text.substr(0, end));
    return end < text.size() ? all + "..." : all;
}

} // namespace palimpsest::storage
