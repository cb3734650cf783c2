#include "engine/eval/metrics/answer_words.h"

#include <utf8proc.h>

#include "engine/eval/metrics/lower_case.h"
#include "engine/text/jinja/code_points.h"

namespace palimpsest::engine {
namespace {

bool is_ascii_punctuation(char c)
{
    constexpr std::string_view marks = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";
    return marks.find(c) != marks.npos;
}

std::string without_punctuation(std::string_view text)
{
    std::string left;
    for (const char c : text)
        if (!is_ascii_punctuation(c)) left += c;
    return left;
}

// True for the characters that \w matches in a regular expression of Python.
bool is_word_letter(char32_t code)
{
    const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(code));
    return jinja::is_letter(code) || category == UTF8PROC_CATEGORY_ND || category == UTF8PROC_CATEGORY_NL ||
           category == UTF8PROC_CATEGORY_NO || code == '_';
}

bool is_article(std::string_view word)
{
    return word == "a" || word == "an" || word == "the";
}

std::string without_articles(std::string_view text)
{
    std::string left;
    size_t begin = 0; // where the current word begins
    const auto end_word = [&](size_t end) {
        const std::string_view word = text.substr(begin, end - begin);
        left += is_article(word) ? " " : word;
    };
    for (size_t at = 0; at < text.size();) {
        const size_t before = at;
        if (is_word_letter(jinja::next_code_point(text, at))) continue;
        end_word(before);
        left += text.substr(before, at - before);
        begin = at;
    }
    end_word(text.size());
    return left;
}

template<class IsPart>
std::vector<std::string> runs_of(std::string_view text, const IsPart& is_part)
{
    std::vector<std::string> runs;
    bool goes_on = false;
    for (size_t at = 0; at < text.size();) {
        const size_t before = at;
        const bool is_in = is_part(jinja::next_code_point(text, at));
        if (is_in && !goes_on) runs.emplace_back();
        if (is_in) runs.back() += text.substr(before, at - before);
        goes_on = is_in;
    }
    return runs;
}

} // namespace

std::vector<std::string> spaced_words(std::string_view text)
{
    return runs_of(text, [](char32_t code) { return !jinja::is_space(code); });
}

std::vector<std::string> digit_runs(std::string_view text)
{
    return runs_of(text, jinja::is_decimal);
}

std::vector<std::string> answer_words(std::string_view text, AnswerCase with)
{
    const std::string cased = with == AnswerCase::Lowered ? lower_case(text) : std::string(text);
    return spaced_words(without_articles(without_punctuation(cased)));
}

} // namespace palimpsest::engine
