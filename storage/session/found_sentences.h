// The sentences of the passages that were found for a question, and how much each says to it.
#pragma once

#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "storage/passages/passage_search.h"
#include "storage/session/passage_encoder.h"
#include "storage/session/quote.h"
#include "storage/session/rereading.h"
#include "storage/session/store.h"

namespace palimpsest::storage {

class PassagePlaces;

class FoundSentences {
public:
    // Headings are left out. Of many sentences, the 256 with the most of the question's words are compared by
    // meaning, and the best 32 of all are read together with the question, a quarter of a second on two cores.
    // Empty if nothing was found, or if a text is damaged. `store` must outlive this object. `encoder`: null:
    // neither by meaning nor read.
    // What was asked before counts as in a search (Question).
    FoundSentences(const Rereading& found, const Question& question, Store& store, PassageEncoder* encoder,
                   const std::stop_token& stop = {});
    FoundSentences(const FoundSentences&) = delete; // sentences refer to passages
    FoundSentences& operator=(const FoundSentences&) = delete;

    bool empty() const { return all_.empty(); }
    const std::string& question() const { return question_; } // what was looked at of it: its first 4,096 bytes
    bool has_passage_with(std::string_view words) const;      // side by side

    // The sentence with the most of the question's and the answer's words, its own and in part those of the
    // sentence before it, counted by rarity; which has what is asked for (a name, a number); and, with an encoder,
    // the nearest in meaning, and best as read together with the question. The weights were chosen on books of the
    // training split; the model's likelihood of the question given the sentence did not help there
    // (docs/quality.md). Throws Error (DamagedDocument). REQUIRES: !empty()
    Quote best(std::string_view answer) const;
    // The two best sentences without an answer, each with the sentences before and behind it in its passage; best
    // first. Two excerpts that touch become one. None if the places of their tokens are damaged.
    std::vector<Quote> excerpts() const;

private:
    struct Passage {
        StoredPassage place;
        std::string text;
    };
    struct Sentence {
        const Passage* passage = nullptr;
        size_t first_byte = 0; // in its text
        std::string_view text;
        bool follows = false; // the sentence before it, in the same passage
    };
    void add_passages(const Rereading& found);
    void split(const Passage& passage, PassagePlaces& places);
    std::vector<std::string_view> texts() const;
    std::vector<double> kind_scores() const;
    void add_meaning(const Question& question, PassageEncoder& encoder, const std::stop_token& stop);
    void add_reading(const Question& question, PassageEncoder& encoder, const std::stop_token& stop);
    std::vector<size_t> best_few(size_t most) const;
    std::vector<double> scores(std::string_view answer) const;
    Quote quote(size_t first, size_t last) const; // sentences of one passage

    Store& store_;
    std::string question_;
    std::vector<std::string> asked_; // its words
    std::vector<Passage> passages_;
    std::vector<Sentence> all_;
    std::vector<double> of_question_; // scores without an answer
};

} // namespace palimpsest::storage
