#include "engine/eval/cloze.h"

#include <utf8proc.h>

#include <algorithm>
#include <optional>
#include <random>
#include <unordered_map>
#include <unordered_set>

#include "engine/text/unicode/utf8.h"

namespace palimpsest::engine {
namespace {

// The class of a word, told by its letters alone: one that begins with its only capital is a Name, German nouns
// too.
enum class Kind : uint8_t { Other, Name, Number, RareWord };
constexpr size_t kinds_of_word = 4;

struct Word {
    TextRange at;
    uint64_t folded = 0; // hash of it in lower case
    Kind kind = Kind::Other;
    bool is_after_space = false;
};

bool is_letter(utf8proc_category_t category)
{
    return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}

bool is_mark(utf8proc_category_t category)
{
    return category >= UTF8PROC_CATEGORY_MN && category <= UTF8PROC_CATEGORY_ME;
}

bool is_space(char32_t code)
{
    return code == U' ' || code == U'\n' || code == U'\t' || code == U'\r';
}

// Whether the script of a letter puts spaces between words. False for Thai, Lao, Tibetan, Burmese, Khmer, Han and
// kana.
bool separates_words(char32_t code)
{
    return !(code >= 0x0e00 && code < 0x10a0) && !(code >= 0x1780 && code < 0x1800) &&
           !(code >= 0x2e80 && code < 0xa000) && !(code >= 0x20000 && code < 0x40000);
}

uint64_t hash_with(uint64_t hash, uint64_t next) // FNV-1a
{
    return (hash ^ next) * 0x100000001b3u;
}

class WordReader {
public:
    explicit WordReader(std::string_view text) : text_(text) {}

    std::vector<Word> read()
    {
        Utf8Decoder decoder;
        for (const char byte : text_)
            decoder.push(static_cast<unsigned char>(byte),
                         [&](char32_t code, size_t bytes, bool) { add(code, bytes); });
        end_word();
        return std::move(words_);
    }

private:
    struct Letters {
        size_t all = 0, capitals = 0, small = 0, caseless = 0, digits = 0;
        bool starts_high = false;
    };

    void add(char32_t code, size_t bytes)
    {
        const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(code));
        if (is_letter(category) || category == UTF8PROC_CATEGORY_ND) {
            if (count_.all == 0)
                word_ = {.at = {at_, at_}, .folded = hash_seed, .is_after_space = is_space(before_)};
            count(code, category);
            word_.folded = hash_with(word_.folded, static_cast<uint32_t>(utf8proc_tolower(static_cast<int>(code))));
        } else if (count_.all == 0 || !is_mark(category)) {
            end_word();
        }
        at_ += bytes;
        if (count_.all > 0) word_.at.end = at_;
        before_ = code;
    }

    void count(char32_t code, utf8proc_category_t category)
    {
        if (count_.all == 0) count_.starts_high = category == UTF8PROC_CATEGORY_LU;
        ++count_.all;
        count_.capitals += category == UTF8PROC_CATEGORY_LU ? 1 : 0;
        count_.small += category == UTF8PROC_CATEGORY_LL ? 1 : 0;
        count_.digits += category == UTF8PROC_CATEGORY_ND ? 1 : 0;
        count_.caseless += category == UTF8PROC_CATEGORY_LO && separates_words(code) ? 1 : 0;
    }

    void end_word()
    {
        if (count_.all == 0) return;
        word_.kind = kind();
        words_.push_back(word_);
        count_ = {};
    }

    Kind kind() const
    {
        const auto& [all, capitals, small, caseless, digits, starts_high] = count_;
        constexpr size_t least_of_number = 2, least_of_name = 3, least_of_small = 7, least_of_caseless = 5;
        if (digits == all) return all >= least_of_number ? Kind::Number : Kind::Other;
        if (starts_high && capitals == 1 && small + 1 == all && all >= least_of_name) return Kind::Name;
        if (small == all && all >= least_of_small) return Kind::RareWord;
        return caseless == all && all >= least_of_caseless ? Kind::RareWord : Kind::Other;
    }

    static constexpr uint64_t hash_seed = 0xcbf29ce484222325u;

    std::string_view text_;
    std::vector<Word> words_;
    Word word_;
    Letters count_;
    size_t at_ = 0;
    char32_t before_ = U' ';
};

class ClozeMaker {
public:
    ClozeMaker(std::string_view text, uint64_t seed) : text_(text), words_(WordReader(text).read()), random_(seed)
    {
        mark_sentences();
        find_choices();
        for (size_t i = 0; i < words_.size(); ++i)
            ++leads_[lead(i)];
    }

    std::vector<Cloze> make(size_t count)
    {
        std::vector<Cloze> made;
        for (size_t part = 0; part < count; ++part) {
            auto cloze = cloze_in(text_.size() * part / count, text_.size() * (part + 1) / count);
            if (cloze) made.push_back(std::move(*cloze));
        }
        return made;
    }

private:
    static constexpr size_t lead_words = 4, least_before = 6, most_before = 60; // words

    // Hash of the words before one, which tell where it is.
    uint64_t lead(size_t i) const
    {
        uint64_t hash = 0;
        for (size_t k = i - std::min(i, lead_words); k < i; ++k)
            hash = hash_with(hash, words_[k].folded);
        return hash;
    }

    void mark_sentences()
    {
        begins_.resize(words_.size());
        const std::vector<TextRange> all = sentences(text_);
        size_t sentence = 0, first = 0;
        for (size_t i = 0; i < words_.size(); ++i) {
            while (sentence + 1 < all.size() && words_[i].at.begin >= all[sentence].end) {
                ++sentence;
                first = i;
            }
            begins_[i] = {all[sentence].begin, first};
        }
    }

    void find_choices()
    {
        constexpr size_t most_often = 3;
        std::unordered_map<uint64_t, size_t> often;
        for (const Word& word : words_)
            ++often[word.folded];
        std::unordered_set<uint64_t> known;
        for (size_t i = 0; i < words_.size(); ++i) {
            Word& word = words_[i];
            const bool begins_sentence = begins_[i].second == i; // where any word has a capital
            if (often[word.folded] > most_often || (word.kind == Kind::Name && begins_sentence) || !is_apart(i))
                word.kind = Kind::Other;
            if (word.kind != Kind::Other && known.insert(word.folded).second)
                choices_[static_cast<size_t>(word.kind)].push_back(i);
        }
    }

    // White space stands before it, and between it and the next word.
    bool is_apart(size_t i) const
    {
        return words_[i].is_after_space && i + 1 < words_.size() &&
               behind(i).find_first_of(" \n\t\r") != std::string_view::npos;
    }

    std::string_view behind(size_t i) const
    {
        return text_.substr(words_[i].at.end, words_[i + 1].at.begin - words_[i].at.end);
    }

    bool can_be_asked(size_t i) const
    {
        if (words_[i].kind == Kind::Other) return false;
        const size_t before = i - begins_[i].second;
        return before >= least_before && before <= most_before && leads_.at(lead(i)) == 1 && !stands_before(i, i);
    }

    // Whether a word stands in the sentence of another, before it.
    bool stands_before(size_t word, size_t other) const
    {
        for (size_t k = begins_[other].second; k < other; ++k)
            if (words_[k].folded == words_[word].folded) return true;
        return false;
    }

    std::optional<Cloze> cloze_in(size_t begin, size_t end)
    {
        std::vector<size_t> best, others;
        const auto from =
            std::ranges::lower_bound(words_, begin, {}, [](const Word& word) { return word.at.begin; });
        for (auto i = static_cast<size_t>(from - words_.begin()); i < words_.size() && words_[i].at.begin < end;
             ++i)
            if (can_be_asked(i)) (words_[i].kind == Kind::RareWord ? others : best).push_back(i);
        for (std::vector<size_t>* candidates : {&best, &others})
            while (!candidates->empty()) {
                std::swap((*candidates)[random_() % candidates->size()], candidates->back());
                if (auto cloze = cloze_of(candidates->back())) return cloze;
                candidates->pop_back();
            }
        return std::nullopt;
    }

    // Null: too few other words of its kind.
    std::optional<Cloze> cloze_of(size_t i)
    {
        Cloze cloze;
        cloze.at = words_[i].at;
        const std::string_view before = text_.substr(begins_[i].first, words_[i].at.begin - begins_[i].first);
        cloze.before = before.substr(0, before.find_last_not_of(" \n\t\r") + 1);
        cloze.after = after(i);
        cloze.answers[0] = " " + std::string(words_[i].at.in(text_));
        std::vector<size_t>& choices = choices_[static_cast<size_t>(words_[i].kind)];
        size_t found = 1;
        for (size_t k = 0; k < choices.size() && found < Cloze::answers_asked; ++k) {
            std::swap(choices[k], choices[k + random_() % (choices.size() - k)]);
            const size_t other = choices[k];
            if (words_[other].folded == words_[i].folded || stands_before(other, i)) continue;
            cloze.answers[found++] = " " + std::string(words_[other].at.in(text_));
        }
        if (found < Cloze::answers_asked) return std::nullopt;
        return cloze;
    }

    // The mark behind a word, or else the next word.
    std::string after(size_t i) const
    {
        const std::string_view between = behind(i);
        if (is_space(static_cast<unsigned char>(between[0]))) return " " + std::string(words_[i + 1].at.in(text_));
        size_t end = 1;
        while (end < between.size() && is_utf8_continuation(between[end]))
            ++end;
        return std::string(between.substr(0, end));
    }

    std::string_view text_;
    std::vector<Word> words_;
    std::vector<std::pair<size_t, size_t>> begins_; // of each word's sentence: its byte, and its first word
    std::vector<size_t> choices_[kinds_of_word];    // one place of each distinct word
    std::unordered_map<uint64_t, uint32_t> leads_;  // how often each is there
    std::mt19937_64 random_;
};

} // namespace

std::vector<Cloze> make_clozes(std::string_view text, size_t count, uint64_t seed)
{
    return ClozeMaker(text, seed).make(count);
}

} // namespace palimpsest::engine
