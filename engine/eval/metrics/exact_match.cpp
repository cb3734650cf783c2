#include "engine/eval/metrics/exact_match.h"

#include <charconv>
#include <optional>
#include <string>

#include "engine/eval/metrics/answer_words.h"
#include "engine/eval/metrics/lower_case.h"
#include "engine/text/jinja/code_points.h"

namespace palimpsest::engine {
namespace {

std::string spaced_answer(std::string_view text)
{
    std::string answer;
    for (const std::string& word : answer_words(text, AnswerCase::Kept))
        answer += answer.empty() ? word : " " + word;
    return answer;
}

bool has_letters_of(std::string_view text, std::string_view letters)
{
    return text.find_first_not_of(letters) == text.npos;
}

// A number as Python's float() reads it: a sign, underscores between digits and white space around are allowed.
std::optional<double> number_in(std::string_view text)
{
    text = jinja::strip_space(text);
    if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
    const auto is_digit = [&](size_t at) { return at < text.size() && text[at] >= '0' && text[at] <= '9'; };
    std::string plain;
    for (size_t i = 0; i < text.size(); ++i)
        if (text[i] != '_')
            plain += text[i];
        else if (i == 0 || !is_digit(i - 1) || !is_digit(i + 1))
            return std::nullopt;
    double number = 0;
    const auto [end, error] = std::from_chars(plain.data(), plain.data() + plain.size(), number);
    if (error != std::errc() || end != plain.data() + plain.size()) return std::nullopt;
    return number;
}

std::string lower_without_spaces(std::string_view text)
{
    std::string lower = lower_case(text);
    std::erase(lower, ' ');
    return lower;
}

} // namespace

double exact_match(std::string_view said, std::string_view right)
{
    const std::string right_answer = spaced_answer(right);
    if (has_letters_of(right_answer, "ABCD")) {
        const std::string answer = spaced_answer(said);
        return answer == right_answer ? 1 : has_letters_of(answer, right_answer) ? 0.25 : 0;
    }
    const auto said_number = number_in(said), right_number = number_in(right);
    if (said_number && right_number) return *said_number == *right_number ? 1 : 0;
    const std::string answer = lower_without_spaces(said);
    return answer.find(lower_without_spaces(right)) != answer.npos ? 1 : 0;
}

} // namespace palimpsest::engine
