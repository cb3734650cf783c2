#include "engine/eval/ruler_sample.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <random>
#include <set>

#include "kernels/base/byte_quantity.h"
#include "kernels/base/error.h"

namespace palimpsest::engine {
namespace {

constexpr std::array ruler_names = {
    "niah_single", "niah_multikey", "niah_multivalue", "niah_multiquery", "vt", "cwe", "fwe"};
constexpr std::array<std::string_view, 4> noise = {
    "The road goes on past the mill.", "A cart stands beside the gate.", "The dog sleeps where the sun is warm.",
    "Nobody is in a hurry today."};

class RulerMaker {
public:
    RulerMaker(uint64_t seed, RulerRepeats repeats) : random_(seed), repeats_(repeats) {}

    RulerSample make(RulerTask task, size_t units)
    {
        switch (task) {
        case RulerTask::Single:
            return needles(1, 1, 1, units);
        case RulerTask::MultiKey:
            return needles(4, 1, 1, units);
        case RulerTask::MultiValue:
            return needles(1, 4, 1, units);
        case RulerTask::MultiQuery:
            return needles(4, 1, 4, units);
        case RulerTask::Variables:
            return variables(units);
        case RulerTask::Common:
            return common_words(units);
        case RulerTask::Frequent:
            return frequent_words(units);
        }
        return {};
    }

private:
    uint64_t below(uint64_t end) { return random_() % end; }
    double place() { return static_cast<double>(random_() >> 11) * 0x1.0p-53; } // in [0, 1)

    std::string drawn_word(size_t syllables)
    {
        constexpr std::string_view consonants = "bdfgklmnprstvz", vowels = "aeiou";
        std::string word;
        for (size_t i = 0; i < syllables; ++i) {
            word += consonants[below(consonants.size())];
            word += vowels[below(vowels.size())];
        }
        return word;
    }

    // Makes a word of three syllables, or of more once most words of three syllables are in use.
    std::string new_word()
    {
        constexpr size_t syllables = 3, draws = 20;
        for (size_t drawn = 0;; ++drawn) {
            std::string word = drawn_word(syllables + drawn / draws);
            if (used_.insert(word).second) return word;
        }
    }

    std::string new_number(uint64_t digits)
    {
        std::string number;
        do {
            number = std::to_string(1 + below(9));
            while (number.size() < digits)
                number += std::to_string(below(10));
        } while (!used_.insert(number).second);
        return number;
    }

    std::string new_variable()
    {
        std::string name;
        do {
            name.clear();
            for (int i = 0; i < 5; ++i)
                name += static_cast<char>('A' + below(26));
        } while (!used_.insert(name).second);
        return name;
    }

    // Lines of noise, with each sentence at its place, a share of the text.
    static std::string lines_with(std::vector<std::pair<double, std::string>> sentences, size_t units)
    {
        std::ranges::stable_sort(sentences, {}, &std::pair<double, std::string>::first);
        std::string text;
        size_t next = 0;
        for (size_t i = 0; i <= units; ++i) {
            const double end = static_cast<double>(i + 1) / static_cast<double>(units + 1);
            for (; next < sentences.size() && (sentences[next].first < end || i == units); ++next)
                text += sentences[next].second + "\n";
            if (i < units) text += std::string(noise[i % noise.size()]) + "\n";
        }
        return text;
    }

    static std::string listed(const std::vector<std::string>& names)
    {
        std::string list = names[0];
        for (size_t i = 1; i < names.size(); ++i)
            list += (i + 1 == names.size() ? " and " : ", ") + names[i];
        return list;
    }

    RulerSample needles(size_t keys, size_t values, size_t asked, size_t units)
    {
        RulerSample sample;
        std::vector<std::string> asked_keys;
        std::vector<std::pair<double, std::string>> sentences;
        for (size_t k = 0; k < keys; ++k) {
            const std::string key = new_word();
            if (k < asked) asked_keys.push_back(key);
            for (size_t v = 0; v < values; ++v) {
                const std::string number = new_number(7);
                if (k < asked) sample.answers.push_back(number);
                sentences.emplace_back(place(), "One of the numbers of " + key + " is " + number + ".");
            }
        }
        const std::string names = listed(asked_keys);
        sample.input = "Numbers are hidden in the following text. Remember them.\n" + lines_with(sentences, units) +
                       "Question: Which are all the numbers of " + names + " in the text above?";
        sample.answer_prefix = " Answer: The numbers of " + names + " in the text above are";
        return sample;
    }

    RulerSample variables(size_t units)
    {
        constexpr size_t count = 5;
        RulerSample sample;
        const std::string value = new_number(5);
        std::vector<double> places;
        for (size_t i = 0; i < count; ++i) {
            sample.answers.push_back(new_variable());
            places.push_back(place());
        }
        std::ranges::sort(places); // a variable is known before its value is taken
        std::vector<std::pair<double, std::string>> sentences;
        for (size_t i = 0; i < count; ++i)
            sentences.emplace_back(places[i], "VAR " + sample.answers[i] + " = " +
                                                  (i == 0 ? value : "VAR " + sample.answers[i - 1]));
        sample.input = "Variables are set in the following text. Remember their values.\n" +
                       lines_with(sentences, units) + "Question: Which variables have the value " + value +
                       ", set directly or through another variable?";
        sample.answer_prefix =
            " Answer: The " + std::to_string(count) + " variables with the value " + value + " are";
        return sample;
    }

    void shuffle(std::vector<std::string>& words)
    {
        for (size_t i = words.size(); i > 1; --i)
            std::swap(words[i - 1], words[below(i)]);
    }

    RulerSample common_words(size_t units)
    {
        constexpr size_t common = 10;
        const size_t often = repeats_ == RulerRepeats::Few ? 6 : 30, seldom = repeats_ == RulerRepeats::Few ? 1 : 3;
        RulerSample sample;
        std::vector<std::string> words;
        for (size_t i = 0; i < common + units; ++i) {
            const std::string word = new_word();
            if (i < common) sample.answers.push_back(word);
            words.insert(words.end(), i < common ? often : seldom, word);
        }
        shuffle(words);
        sample.input = "Some words of the following list stand there more often than others. Remember them.\n";
        for (size_t i = 0; i < words.size(); ++i)
            sample.input += std::to_string(i + 1) + ". " + words[i] + (i + 1 < words.size() ? " " : "\n");
        sample.input += "Question: Which are the 10 most common words of the list above?";
        sample.answer_prefix = " Answer: The 10 most common words of the list above are";
        return sample;
    }

    // The k-th word stands there 1 / k^2 as often as the dots, which are the first.
    RulerSample frequent_words(size_t units)
    {
        constexpr size_t asked = 3, least = 32; // from which on the three are more frequent than the next
        RulerSample sample;
        std::vector<std::string> words(least + units, "...");
        for (size_t k = 2; k <= asked + 1 || k * k <= least + units; ++k) {
            const std::string word = new_word();
            if (k <= asked + 1) sample.answers.push_back(word);
            words.insert(words.end(), (least + units) / (k * k), word);
        }
        shuffle(words);
        sample.input = "Some words of the following text stand there more often than others. Ignore the dots.\n";
        for (size_t i = 0; i < words.size(); ++i)
            sample.input += words[i] + (i + 1 < words.size() ? " " : "\n");
        sample.input += "Question: Which are the three most frequent words of the text above, apart from dots?";
        sample.answer_prefix = " Answer: The three most frequent words of the text above are";
        return sample;
    }

    std::mt19937_64 random_;
    RulerRepeats repeats_;
    std::set<std::string> used_;
};

} // namespace

const char* name_of(RulerTask task)
{
    return ruler_names[static_cast<size_t>(task)];
}

const std::vector<RulerTask>& ruler_tasks()
{
    static const std::vector<RulerTask> all = [] {
        std::vector<RulerTask> made;
        for (size_t i = 0; i < ruler_names.size(); ++i)
            made.push_back(static_cast<RulerTask>(i));
        return made;
    }();
    return all;
}

std::optional<RulerTask> ruler_task(std::string_view name)
{
    const auto found = std::ranges::find(ruler_names, name);
    if (found == ruler_names.end()) return std::nullopt;
    return static_cast<RulerTask>(found - ruler_names.begin());
}

RulerSample make_ruler_sample(RulerTask task, uint64_t seed, size_t units, RulerRepeats repeats)
{
    assert(units > 0);
    return RulerMaker(seed, repeats).make(task, units);
}

RulerSample fit_ruler_sample(RulerTask task, uint64_t seed, uint64_t length, const RulerTokens& tokens)
{
    const RulerRepeats repeats = length < 4096 ? RulerRepeats::Few : RulerRepeats::Many;
    RulerSample best = make_ruler_sample(task, seed, 1, repeats);
    if (const uint64_t shortest = tokens(best); shortest > length)
        throw Error(ErrorKind::Usage, ErrorCode::InvalidArguments, Text::verbatim(name_of(task)),
                    Text("its shortest text has {0} tokens, and the length is {1}", format_count(shortest),
                         format_count(length)),
                    Text("choose a longer length"));
    size_t fits = 1, too_many = length + 1; // a unit has a token or more
    const auto try_units = [&](size_t units) {
        RulerSample sample = make_ruler_sample(task, seed, units, repeats);
        const bool is_fit = tokens(sample) <= length;
        if (is_fit) best = std::move(sample);
        (is_fit ? fits : too_many) = units;
    };
    while (2 * fits < too_many)
        try_units(2 * fits);
    while (fits + 1 < too_many)
        try_units(fits + (too_many - fits) / 2);
    return best;
}

} // namespace palimpsest::engine
