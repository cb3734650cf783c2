#include "storage/session/answer_support.h"

#include <algorithm>
#include <array>
#include <numeric>

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

constexpr size_t most_candidates = 256;      // sentences that are looked at
constexpr size_t most_question_bytes = 4096; // of which every word and name is looked up in every sentence

struct Candidate {
    const FoundPassage* found = nullptr;
    size_t first_byte = 0; // in the passage
    std::string_view text;
    bool follows = false; // the candidate before it, in the same passage
};

// The texts of all passages, and their sentences.
struct Candidates {
    std::vector<std::string> texts;
    std::vector<Candidate> all;
};

// A heading says what a section is about, not what is asked.
Candidates candidates_of(const Rereading& found, Store& store)
{
    PassageIndex index(store.database);
    PassagePlaces places(store.library);
    Candidates candidates;
    candidates.texts.reserve(found.read.size() + found.held.size()); // the candidates refer to them
    for (const auto* passages : {&found.read, &found.held})
        for (const FoundPassage& passage : *passages) {
            const std::string& text = candidates.texts.emplace_back(index.text(passage.passage));
            const Section* section = places.section(passage.passage);
            const std::string_view heading = section ? std::string_view(section->title) : std::string_view();
            bool follows = false;
            for (const engine::TextRange& range : engine::sentences(text)) {
                if (candidates.all.size() == most_candidates) break;
                if (heading.find(range.in(text)) != std::string_view::npos) continue;
                candidates.all.push_back({&passage, range.begin, range.in(text), follows});
                follows = true;
            }
        }
    return candidates;
}

// What kind of words the question asks for. English question words.
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

bool is_in(const std::vector<std::string>& list, const std::string& word)
{
    return std::find(list.begin(), list.end(), word) != list.end();
}

// 1 for a sentence with a name or a number, as asked, that the question does not have.
std::vector<double> kind_scores(const std::vector<Candidate>& candidates, std::string_view question)
{
    std::string small(question);
    std::transform(small.begin(), small.end(), small.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    const auto words = split_words(small);
    const bool name = asks_for_name(words), number = asks_for_number(words);
    std::vector<double> scores(candidates.size());
    const auto has_new = [&](const std::vector<std::string>& things) {
        return std::any_of(things.begin(), things.end(),
                           [&](const auto& thing) { return !has_words(question, thing); });
    };
    for (size_t i = 0; i < candidates.size(); ++i)
        scores[i] =
            (name && has_new(names_in(candidates[i].text))) || (number && has_new(numbers_in(candidates[i].text)))
                ? 1
                : 0;
    return scores;
}

// The cosine of the question and the sentence, and of the question and the sentence with the one before it.
std::vector<double> meaning_scores(const std::vector<Candidate>& candidates, std::string_view question,
                                   PassageEncoder& encoder, const std::stop_token& stop)
try {
    std::vector<std::string> pairs;
    for (size_t i = 0; i < candidates.size(); ++i)
        pairs.push_back(candidates[i].follows
                            ? std::string(candidates[i - 1].text) + " " + std::string(candidates[i].text)
                            : std::string(candidates[i].text));
    std::vector<std::string_view> texts = {question};
    for (size_t i = 0; i < candidates.size(); ++i) {
        texts.push_back(candidates[i].text);
        texts.emplace_back(pairs[i]);
    }
    const std::vector<float> all = encoder.encode(texts, stop);
    if (all.empty()) return std::vector<double>(candidates.size());
    const size_t width = all.size() / texts.size();
    const auto cosine = [&](size_t text) {
        return std::inner_product(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(width),
                                  all.begin() + static_cast<std::ptrdiff_t>(text * width), 0.0);
    };
    std::vector<double> scores;
    for (size_t i = 0; i < candidates.size(); ++i)
        scores.push_back(cosine(1 + 2 * i) + cosine(2 + 2 * i));
    return scores;
} catch (const Error&) {
    return std::vector<double>(candidates.size());
}

// The answer's words that are not the question's.
std::vector<std::string> new_words(std::string_view answer, const std::vector<std::string>& asked)
{
    std::vector<std::string> words = word_query(answer).words;
    std::erase_if(words, [&](const std::string& word) { return is_in(asked, word); });
    return words;
}

size_t best_of(const std::vector<Candidate>& candidates, std::string_view answer, std::string_view question,
               PassageEncoder* encoder, const std::stop_token& stop)
{
    std::vector<std::string_view> texts(candidates.size());
    std::transform(candidates.begin(), candidates.end(), texts.begin(),
                   [](const Candidate& one) { return one.text; });
    const std::vector<std::string> asked = word_query(question).words;
    const auto by_question = word_overlap(asked, texts), by_answer = word_overlap(new_words(answer, asked), texts);
    const auto by_kind = kind_scores(candidates, question);
    const auto by_meaning =
        encoder ? meaning_scores(candidates, question, *encoder, stop) : std::vector<double>(candidates.size());
    std::vector<double> scores(candidates.size());
    for (size_t i = 0; i < candidates.size(); ++i) {
        const double before = candidates[i].follows ? weight_of_previous * by_question[i - 1] : 0;
        scores[i] =
            by_question[i] + before + weight_of_answer * by_answer[i] + weight_of_kind * by_kind[i] + by_meaning[i];
    }
    return static_cast<size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
}

Quote quote_of(const Candidate& candidate, Store& store)
{
    StoredPassage place = candidate.found->passage;
    const uint64_t first = place.first_byte + candidate.first_byte, end = first + candidate.text.size();
    const auto ends = store.library.token_ends(place.document, place.first_token, place.tokens());
    const auto token_at = [&](uint64_t byte) { // the token that contains the byte
        return place.first_token +
               static_cast<uint64_t>(std::upper_bound(ends.begin(), ends.end(), byte) - ends.begin());
    };
    const uint64_t first_token = token_at(first), end_token = token_at(end - 1) + 1;
    place.first_byte = first;
    place.end_byte = end;
    place.first_token = first_token;
    place.end_token = end_token;
    return {.text = std::string(candidate.text), .place = place};
}

std::vector<std::string> unsupported_by(const std::vector<std::string>& texts, std::string_view answer,
                                        std::string_view question)
{
    std::vector<std::string> missing;
    for (const auto& things : {names_in(answer), numbers_in(answer)})
        for (const std::string& thing : things) {
            const bool is_there = has_words(question, thing) ||
                                  std::any_of(texts.begin(), texts.end(),
                                              [&](const std::string& text) { return has_words(text, thing); });
            if (!is_there && !is_in(missing, thing)) missing.push_back(thing);
        }
    return missing;
}

} // namespace

Text Quote::sentence(Store& store) const
{
    return Text("\"{0}\" ({1})", text, PassagePlaces(store.library).sentence(place, false));
}

nlohmann::ordered_json Quote::json(Store& store) const
{
    nlohmann::ordered_json quote{{"text", text}};
    quote.update(PassagePlaces(store.library).json(place));
    return quote;
}

AnswerSupport support_of(std::string_view answer, std::string_view question, const Rereading& found, Store& store,
                         PassageEncoder* encoder, const std::stop_token& stop)
try {
    AnswerSupport support;
    question = question.substr(0, most_question_bytes);
    const Candidates candidates = candidates_of(found, store);
    if (candidates.all.empty()) return support;
    support.quote = quote_of(candidates.all[best_of(candidates.all, answer, question, encoder, stop)], store);
    support.unsupported = unsupported_by(candidates.texts, answer, question);
    return support;
} catch (const Error& error) {
    if (error.code() != ErrorCode::DamagedDocument) throw;
    return {};
}

} // namespace palimpsest::storage
