#include "engine/eval/metrics/rouge_l.h"

#include <set>
#include <string>
#include <vector>

#include "engine/eval/metrics/answer_words.h"
#include "engine/eval/metrics/common_subsequence.h"
#include "engine/eval/metrics/lower_case.h"

namespace palimpsest::engine {
namespace {

using Words = std::vector<std::string>;

// A sentence of white space has one word, which is empty.
std::vector<Words> stopped_sentences(std::string_view text)
{
    std::vector<Words> sentences;
    for (size_t begin = 0; begin < text.size();) {
        const size_t end = std::min(text.find('.', begin), text.size());
        if (end > begin) {
            Words words = spaced_words(text.substr(begin, end - begin));
            if (words.empty()) words.emplace_back();
            sentences.push_back(std::move(words));
        }
        begin = end + 1;
    }
    return sentences;
}

std::set<std::string> different_words(const std::vector<Words>& sentences)
{
    std::set<std::string> words;
    for (const Words& sentence : sentences)
        words.insert(sentence.begin(), sentence.end());
    return words;
}

// Adds the words of one longest common subsequence; which one, where there are several, is that of the package.
void add_common_words(const Words& right, const Words& said, std::set<std::string>& common)
{
    const CommonSubsequence lengths(right, said);
    size_t i = right.size(), j = said.size();
    while (i > 0 && j > 0) {
        if (right[i - 1] == said[j - 1]) {
            common.insert(right[i - 1]);
            --i;
            --j;
        } else if (lengths.length(i - 1, j) > lengths.length(i, j - 1)) {
            --i;
        } else {
            --j;
        }
    }
}

Words runs_of_letters(std::string_view text)
{
    Words words;
    bool goes_on = false;
    for (const char c : lower_case(text)) {
        const bool is_in = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        if (is_in && !goes_on) words.emplace_back();
        if (is_in) words.back() += c;
        goes_on = is_in;
    }
    return words;
}

double share_of(size_t part, size_t all)
{
    return static_cast<double>(part) / static_cast<double>(all);
}

} // namespace

double rouge_l(std::string_view said, std::string_view right)
{
    const auto said_sentences = stopped_sentences(said), right_sentences = stopped_sentences(right);
    if (said_sentences.empty() || right_sentences.empty()) return 0;
    std::set<std::string> common;
    for (const Words& from : right_sentences)
        for (const Words& to : said_sentences)
            add_common_words(from, to, common);
    const double recall = share_of(common.size(), different_words(right_sentences).size());
    const double precision = share_of(common.size(), different_words(said_sentences).size());
    constexpr double against_zero = 1e-8;
    return 2 * (precision * recall / (precision + recall + against_zero));
}

double rouge_l_of_letters(std::string_view said, std::string_view right)
{
    const Words said_words = runs_of_letters(said), right_words = runs_of_letters(right);
    if (said_words.empty() || right_words.empty()) return 0;
    const size_t common = common_length(right_words, said_words);
    if (common == 0) return 0;
    const double precision = share_of(common, said_words.size()), recall = share_of(common, right_words.size());
    return 2 * precision * recall / (precision + recall);
}

} // namespace palimpsest::engine
