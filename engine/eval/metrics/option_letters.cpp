#include "engine/eval/metrics/option_letters.h"

#include <algorithm>
#include <set>

#include "engine/eval/metrics/answer_words.h"
#include "engine/text/jinja/code_points.h"

namespace palimpsest::engine {
namespace {

constexpr std::string_view options = "ABCD";

bool is_option(char c)
{
    return options.find(c) != options.npos;
}

bool ends_option(std::string_view rest)
{
    if (rest.empty()) return false;
    size_t first = 0;
    return rest[0] == '.' || rest[0] == ')' || jinja::is_space(jinja::next_code_point(rest, first));
}

// From the first letter to the next character that is none.
std::string_view letters_in_a_row(std::string_view said)
{
    const size_t begin = std::min(said.find_first_of(options), said.size());
    return said.substr(begin, said.substr(begin).find_first_not_of(options));
}

std::string several_letters(std::string_view said)
{
    const size_t leading = std::min(said.find_first_not_of(options), said.size());
    std::set<char> letters(said.begin(), said.begin() + static_cast<ptrdiff_t>(leading));
    if (leading > 1) return {letters.begin(), letters.end()};
    const std::string_view rest = said.substr(leading).substr(0, said.substr(leading).find("Question"));
    for (size_t i = 0; i < rest.size(); ++i)
        if (is_option(rest[i]) && ends_option(rest.substr(i + 1))) letters.insert(rest[i]);
    return letters.empty() ? std::string(letters_in_a_row(rest)) : std::string(letters.begin(), letters.end());
}

} // namespace

std::string option_letters(std::string_view said, OptionCount count)
{
    if (jinja::strip_space(said).empty()) return "None"; // which is no option
    if (options.find(said) != options.npos) return std::string(said);
    const size_t first = said.find_first_of(options);
    if (count == OptionCount::One) return first == said.npos ? "A" : std::string(said.substr(first, 1));
    const std::string letters = several_letters(said);
    return letters.empty() ? "A" : letters;
}

std::string right_option_letters(std::string_view right)
{
    const auto words = spaced_words(right);
    std::string letters;
    for (const char c : words.empty() ? std::string() : words.front())
        if (is_option(c)) letters += c;
    return letters.empty() ? "A" : letters;
}

} // namespace palimpsest::engine
