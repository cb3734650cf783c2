#include "engine/eval/metrics/qa_f1.h"

#include <unordered_map>

#include "engine/eval/metrics/answer_words.h"

namespace palimpsest::engine {

double qa_f1(std::string_view said, std::string_view right)
{
    const auto said_words = answer_words(said, AnswerCase::Lowered);
    const auto right_words = answer_words(right, AnswerCase::Lowered);
    std::unordered_map<std::string, size_t> left;
    for (const std::string& word : right_words)
        ++left[word];
    size_t common = 0;
    for (const std::string& word : said_words)
        if (const auto found = left.find(word); found != left.end() && found->second > 0) {
            --found->second;
            ++common;
        }
    if (common == 0) return 0;
    const double precision = static_cast<double>(common) / static_cast<double>(said_words.size());
    const double recall = static_cast<double>(common) / static_cast<double>(right_words.size());
    return 2 * precision * recall / (precision + recall);
}

} // namespace palimpsest::engine
