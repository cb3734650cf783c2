// Synthetic questions, answered by a program that reads the text.
#include "engine/eval/ruler_sample.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <sstream>

#include "kernels/base/error.h"
#include "tests/support/catch.h"
#include "tests/unit/session/session_fixture.h"

using namespace palimpsest;
using namespace palimpsest::engine;
using namespace palimpsest::tests;

namespace {

std::vector<std::string> lines_of(const std::string& text)
{
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);)
        lines.push_back(line);
    return lines;
}

std::string question_of_sample(const RulerSample& sample)
{
    return lines_of(sample.input).back();
}

// The numbers of every key that the question names, in any order.
std::vector<std::string> needles_found(const RulerSample& sample)
{
    std::vector<std::string> found;
    const std::string before = "One of the numbers of ", between = " is ";
    for (const std::string& line : lines_of(sample.input)) {
        if (!line.starts_with(before)) continue;
        const size_t end = line.find(between);
        const std::string key = line.substr(before.size(), end - before.size());
        if (question_of_sample(sample).find(key) == std::string::npos) continue;
        found.push_back(line.substr(end + between.size(), line.size() - end - between.size() - 1));
    }
    return found;
}

// Follows the variables line by line.
std::vector<std::string> variables_found(const RulerSample& sample)
{
    std::map<std::string, std::string> values;
    std::vector<std::string> found;
    for (const std::string& line : lines_of(sample.input)) {
        if (!line.starts_with("VAR ")) continue;
        const std::string name = line.substr(4, 5), right = line.substr(12);
        values[name] = right.starts_with("VAR ") ? values.at(right.substr(4)) : right;
    }
    for (const auto& [name, value] : values)
        if (question_of_sample(sample).find(value) != std::string::npos) found.push_back(name);
    return found;
}

// The most frequent words; the next one is less frequent.
std::vector<std::string> most_frequent(const RulerSample& sample, size_t most)
{
    std::map<std::string, size_t> counts;
    std::istringstream stream(lines_of(sample.input).at(1));
    for (std::string word; stream >> word;)
        if (word.find('.') == std::string::npos) ++counts[word];
    std::vector<std::pair<size_t, std::string>> ranked;
    for (const auto& [word, count] : counts)
        ranked.emplace_back(count, word);
    std::ranges::sort(ranked, std::greater());
    REQUIRE(ranked.size() >= most);
    if (ranked.size() > most) CHECK(ranked[most - 1].first > ranked[most].first);
    std::vector<std::string> words;
    for (size_t i = 0; i < most; ++i)
        words.push_back(ranked[i].second);
    return words;
}

std::vector<std::string> answers_found(RulerTask task, const RulerSample& sample)
{
    switch (task) {
    case RulerTask::Variables:
        return variables_found(sample);
    case RulerTask::Common:
        return most_frequent(sample, 10);
    case RulerTask::Frequent:
        return most_frequent(sample, 3);
    default:
        return needles_found(sample);
    }
}

std::vector<std::string> sorted(std::vector<std::string> texts)
{
    std::ranges::sort(texts);
    return texts;
}

} // namespace

TEST_CASE("the answers of a synthetic question follow from its text")
{
    const std::map<RulerTask, size_t> counts = {
        {RulerTask::Single, 1},    {RulerTask::MultiKey, 1}, {RulerTask::MultiValue, 4}, {RulerTask::MultiQuery, 4},
        {RulerTask::Variables, 5}, {RulerTask::Common, 10},  {RulerTask::Frequent, 3}};
    std::vector<size_t> lengths(64);
    std::iota(lengths.begin(), lengths.end(), 1);
    lengths.push_back(100);
    for (const RulerTask task : ruler_tasks())
        for (const uint64_t seed : {0, 1, 2, 3})
            for (const size_t units : lengths) {
                CAPTURE(name_of(task), seed, units);
                const RulerSample sample = make_ruler_sample(task, seed, units);
                CHECK(sample.answers.size() == counts.at(task));
                CHECK(sorted(answers_found(task, sample)) == sorted(sample.answers));
                CHECK(sample.answers == make_ruler_sample(task, seed, 50).answers);
                CHECK(question_of_sample(sample).starts_with("Question: "));
            }
}

TEST_CASE("a synthetic question is as long as fits")
{
    const auto model = load_random({.vocabulary = 300, .has_tokenizer = true});
    const Tokenizer& tokenizer = *model->tokenizer();
    const auto tokens = [&](const RulerSample& sample) {
        return tokenizer.encode(sample.input + sample.answer_prefix, true).size();
    };
    const RulerTask task = GENERATE(RulerTask::MultiKey, RulerTask::Variables, RulerTask::Frequent);
    const auto length_of = [&](size_t units) { return tokens(make_ruler_sample(task, 3, units)); };
    for (const size_t units : {1, 2, 3, 37, 64}) {
        CAPTURE(name_of(task), units);
        const size_t exact = length_of(units);
        CHECK(tokens(fit_ruler_sample(task, 3, exact, tokens)) == exact);
        if (units > 1) CHECK(tokens(fit_ruler_sample(task, 3, exact - 1, tokens)) < exact);
    }
    CHECK_THROWS_AS(fit_ruler_sample(task, 3, length_of(1) - 1, tokens), Error);
}

TEST_CASE("there are words for every length")
{
    constexpr size_t of_three_syllables = 70 * 70 * 70;
    std::istringstream list(
        lines_of(make_ruler_sample(RulerTask::Common, 0, of_three_syllables, RulerRepeats::Few).input).at(1));
    std::set<std::string> words;
    for (std::string number, word; list >> number >> word;)
        words.insert(word);
    CHECK(words.size() == of_three_syllables + 10);
}

TEST_CASE("words of short texts are repeated less often, as in RULER")
{
    const auto times = [](uint64_t length) {
        const auto sample = fit_ruler_sample(RulerTask::Common, 1, length,
                                             [](const RulerSample& made) { return made.input.size() / 4; });
        std::map<std::string, size_t> counts;
        std::istringstream list(lines_of(sample.input).at(1));
        for (std::string number, word; list >> number >> word;)
            ++counts[word];
        std::set<size_t> found;
        for (const auto& [word, count] : counts)
            found.insert(count);
        return found;
    };
    CHECK(times(4095) == std::set<size_t>{1, 6});
    CHECK(times(4096) == std::set<size_t>{3, 30});
}

TEST_CASE("seeds make different questions")
{
    for (const RulerTask task : ruler_tasks()) {
        CHECK(make_ruler_sample(task, 1, 5).answers != make_ruler_sample(task, 2, 5).answers);
        CHECK(ruler_task(name_of(task)) == task);
    }
    CHECK(ruler_task("qa_1") == std::nullopt);
}
