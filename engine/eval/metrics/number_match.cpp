#include "engine/eval/metrics/number_match.h"

#include <algorithm>

#include "engine/eval/metrics/answer_words.h"
#include "engine/eval/metrics/exact_match.h"
#include "engine/text/jinja/code_points.h"

namespace palimpsest::engine {
namespace {

constexpr std::string_view announced = "The answer is ";

// The word after the first announcement that a word follows.
std::optional<std::string> announced_word(std::string_view text)
{
    for (size_t at = text.find(announced); at != text.npos; at = text.find(announced, at + 1)) {
        const std::string_view rest = text.substr(at + announced.size());
        size_t first = 0;
        if (rest.empty() || jinja::is_space(jinja::next_code_point(rest, first))) continue;
        return spaced_words(rest).front();
    }
    return std::nullopt;
}

std::string last_word_with_digits(std::string_view text)
{
    text = text.substr(0, text.find("\n\n"));
    for (;;) {
        const size_t space = text.rfind(' ');
        const std::string_view word = space == text.npos ? text : text.substr(space + 1);
        if (!digit_runs(word).empty()) return std::string(word);
        if (space == text.npos) return {};
        text = text.substr(0, space);
    }
}

std::string result_of(std::string_view text)
{
    const std::string word = announced_word(text).value_or(last_word_with_digits(text));
    std::string digits;
    for (const std::string& run : digit_runs(std::string_view(word).substr(0, word.find('.'))))
        digits += run;
    return digits;
}

} // namespace

double number_share(std::string_view said, std::string_view right)
{
    const auto numbers = digit_runs(said);
    if (numbers.empty()) return 0;
    return static_cast<double>(std::ranges::count(numbers, right)) / static_cast<double>(numbers.size());
}

std::optional<std::string> paragraph_number(std::string_view right)
{
    for (const std::string_view word : {std::string_view("Paragraph "), std::string_view("段落")})
        for (size_t at = right.find(word); at != right.npos; at = right.find(word, at + 1)) {
            const std::string_view rest = right.substr(at + word.size());
            size_t first = 0;
            if (!rest.empty() && jinja::is_decimal(jinja::next_code_point(rest, first)))
                return digit_runs(rest).front();
        }
    return std::nullopt;
}

double result_match(std::string_view said, std::string_view right)
{
    return exact_match(result_of(said), result_of(right));
}

} // namespace palimpsest::engine
