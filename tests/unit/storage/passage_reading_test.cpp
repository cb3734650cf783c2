// Ranking by reading each sentence with the question: what it adds, to which passages, and when nothing changes.
#include "storage/session/passage_reading.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iostream>
#include <numeric>
#include <set>

#include "engine/text/sentences.h"
#include "storage/session/found_sentences.h"
#include "tests/unit/storage/book_session.h"

using namespace palimpsest;
using namespace palimpsest::storage;
using palimpsest::tests::BookSession;

namespace {

constexpr std::string_view asked = "Who wrote about the lamp?";

std::filesystem::path fixture(const std::string& name)
{
    return tests::source_file("tests/fixtures/encoder/" + name);
}

// Sentences of words that the tiny encoder knows, each different.
std::string story(size_t sentences, size_t first)
{
    const std::vector<std::string> words = {
        "lighthouse", "keeper", "kept",    "diary", "eleven", "years", "sea",  "stairs", "lamp", "hours", "asked",
        "daughter",   "bread",  "letters", "never", "wrote",  "about", "four", "which",  "once", "time"};
    std::string text;
    for (size_t i = first; i < first + sentences; ++i) {
        text += "The";
        for (size_t w = 0; w < 4; ++w)
            text += ' ' + words[(i * i + w * (i % 20 + 1)) % words.size()];
        text += i % 3 == 2 ? ".\n\n" : ". ";
    }
    return text;
}

struct ReadInBook : BookSession {
    explicit ReadInBook(bool reads = true) : BookSession(story(240, 0)), session(with_book(roomy()))
    {
        encoder.change(fixture("change.safetensors"));
        meaning = encoder.meaning_of({.text = asked});
        if (reads)
            encoder.read_sentences_with(fixture("sentences.safetensors"),
                                        [this](const Error& error) { failures.push_back(error.what()); });
        add_hits(1, 1000);
        REQUIRE(hits.size() > most_read + 1);
    }
    static StoredOptions roomy()
    {
        StoredOptions options = tests::options();
        options.choice.budget = "240"; // half of it is room for a passage
        return options;
    }
    // The first passages of a document, each with a little less than the one before.
    void add_hits(int64_t document, size_t most)
    {
        auto passages = PassageIndex(store().database).all(document);
        passages.resize(std::min(passages.size(), most));
        for (const StoredPassage& passage : passages)
            hits.push_back({passage, 1 - 1e-6 * static_cast<double>(hits.size())});
    }
    std::vector<PassageHit> rank(const Question& question = {.text = asked}, const std::stop_token& stop = {})
    {
        return ranked_by_reading(hits, question, meaning, encoder, store(), stop);
    }
    double best_score(const StoredPassage& passage)
    {
        const std::string text = PassageIndex(store().database).text(passage);
        const auto ranges = engine::sentences(text);
        const std::set<size_t> read =
            is_encoded ? sentences_of_near_windows(text, ranges) : first_sentences(ranges);
        std::vector<engine::SentenceInPlace> sentences;
        for (const size_t s : read) {
            const size_t before = ranges[s < 2 ? 0 : s - 2].begin;
            sentences.push_back(
                {ranges[s].in(text), std::string_view(text).substr(before, ranges[s].begin - before)});
        }
        const auto all = encoder.scores({.text = asked}, sentences);
        return static_cast<double>(*std::max_element(all.begin(), all.end()));
    }
    static std::set<size_t> first_sentences(const std::vector<engine::TextRange>& ranges)
    {
        std::set<size_t> first;
        for (size_t s = 0; s < std::min<size_t>(ranges.size(), 4); ++s)
            first.insert(s);
        return first;
    }
    std::set<size_t> sentences_of_near_windows(const std::string& text,
                                               const std::vector<engine::TextRange>& ranges)
    {
        std::vector<std::pair<double, engine::TextRange>> windows;
        for (const engine::TextRange& window : PassageEncoder::windows_of(ranges)) {
            const std::string_view words = window.in(text);
            const auto embedding = encoder.encode({&words, 1});
            windows.emplace_back(
                -std::inner_product(embedding.begin(), embedding.end(), meaning.embedding.begin(), 0.0), window);
        }
        std::stable_sort(windows.begin(), windows.end(),
                         [](const auto& a, const auto& b) { return a.first < b.first; });
        windows.resize(std::min<size_t>(windows.size(), 2));
        std::set<size_t> near;
        for (size_t s = 0; s < ranges.size(); ++s)
            for (const auto& [cosine, window] : windows)
                if (ranges[s].begin < window.end && window.begin < ranges[s].end) near.insert(s);
        return near;
    }
    // The best score of each of the first `count` hits, less the mean of these.
    std::vector<double> gains(size_t count)
    {
        std::vector<double> gains;
        double sum = 0;
        for (size_t i = 0; i < count; ++i) {
            gains.push_back(best_score(hits[i].passage));
            sum += gains.back();
        }
        for (double& gain : gains)
            gain -= sum / static_cast<double>(count);
        return gains;
    }

    StoredSession& session;
    PassageEncoder encoder{fixture("bert"), nullptr};
    QuestionMeaning meaning;
    bool is_encoded = false; // the first document's passages have embeddings
    std::vector<PassageHit> hits;
    std::vector<std::string> failures;
};

std::vector<int64_t> order_of(const std::vector<PassageHit>& hits)
{
    std::vector<int64_t> order;
    order.reserve(hits.size());
    for (const PassageHit& hit : hits)
        order.push_back(hit.passage.index);
    return order;
}

double gain_of(const PassageHit& hit, const std::vector<PassageHit>& ranked)
{
    const auto same = [&](const PassageHit& other) {
        return other.passage.document == hit.passage.document && other.passage.index == hit.passage.index;
    };
    return std::find_if(ranked.begin(), ranked.end(), same)->score - hit.score;
}

} // namespace

TEST_CASE("the score of its best sentence, beside the others', is added to each of the best passages")
{
    ReadInBook tested;
    tested.is_encoded = GENERATE(false, true); // with embeddings, only of its two nearest windows
    if (tested.is_encoded) REQUIRE(tested.encoder.encode(tested.store().database, 1, UINT64_MAX, {}));
    const auto ranked = tested.rank();
    const auto gains = tested.gains(most_read);
    REQUIRE(ranked.size() == tested.hits.size());
    CHECK(*std::max_element(gains.begin(), gains.end()) > 0.1);
    const double weight = gain_of(tested.hits[0], ranked) / gains[0];
    CHECK(weight > 0);
    for (size_t i = 0; i < most_read; ++i)
        CHECK(std::abs(gain_of(tested.hits[i], ranked) - weight * gains[i]) < 1e-6);
    CHECK(order_of(ranked) != order_of(tested.hits));
    CHECK(std::is_sorted(ranked.begin(), ranked.begin() + most_read,
                         [](const auto& a, const auto& b) { return a.score > b.score; }));
    for (size_t i = most_read; i < ranked.size(); ++i) {
        CHECK(ranked[i].passage.index == tested.hits[i].passage.index);
        CHECK(ranked[i].score == tested.hits[i].score);
    }
}

TEST_CASE("a passage whose text is damaged counts as an average one")
{
    ReadInBook tested;
    const auto other = tested.folder() / "other.txt";
    std::ofstream(other) << story(60, 1000);
    Document document(other.string(), std::cin);
    tested.session.read(document);
    tested.hits.clear();
    tested.add_hits(1, 6);
    tested.add_hits(2, 6);
    REQUIRE(tested.hits.size() == 12);
    const auto gains = tested.gains(6);
    tested.store().database.sql().exec(
        "UPDATE document_blocks SET hash = hash + 1 WHERE kind = 0 AND document = 2");
    const auto ranked = tested.rank();
    const double weight = gain_of(tested.hits[0], ranked) / gains[0];
    CHECK(weight > 0);
    for (size_t i = 0; i < 12; ++i)
        CHECK(std::abs(gain_of(tested.hits[i], ranked) - (i < 6 ? weight * gains[i] : 0)) < 1e-6);
}

TEST_CASE("a question that refers back is read with what was asked last before it")
{
    ReadInBook tested;
    const engine::SentenceInPlace sentence{"The keeper of the lamp never wrote about the sea.", ""};
    const auto score = [&](const Question& question) {
        const auto scores = tested.encoder.scores(question, {&sentence, 1});
        REQUIRE(scores.size() == 1);
        return scores[0];
    };
    const float together = score({"And his daughter? the keeper kept a diary", ""});
    CHECK(score({"And his daughter?", "bread and letters\nthe keeper kept a diary\n"}) == together);
    CHECK(score({"And his daughter?", ""}) != together);
    CHECK(score({asked, "the keeper kept a diary"}) == score({asked, ""}));
}

TEST_CASE("the order stays if the encoder reads no sentences, or is stopped, or little was found")
{
    ReadInBook tested, without(false);
    std::stop_source stopped;
    stopped.request_stop();
    CHECK(order_of(tested.rank({.text = asked}, stopped.get_token())) == order_of(tested.hits));
    CHECK(order_of(without.rank()) == order_of(without.hits));
    tested.hits.resize(1);
    CHECK(tested.rank().at(0).score == tested.hits.at(0).score);
    tested.hits.clear();
    CHECK(tested.rank().empty());
    CHECK(tested.failures.empty());
}

TEST_CASE("a change that gives no finite score is told once, and sentences are read no longer")
{
    ReadInBook tested;
    const std::string table = R"({"score":{"dtype":"F32","shape":[32],"data_offsets":[0,128]}})";
    std::string file{static_cast<char>(table.size()), 0, 0, 0, 0, 0, 0, 0};
    file += table;
    for (int i = 0; i < 32; ++i)
        file += std::string("\x00\x00\x80\x7F", 4); // infinite
    const auto change = tested.folder() / "infinite.safetensors";
    std::ofstream(change, std::ios::binary) << file;
    tested.encoder.read_sentences_with(change,
                                       [&](const Error& error) { tested.failures.push_back(error.what()); });
    for (int i = 0; i < 2; ++i)
        CHECK(order_of(tested.rank()) == order_of(tested.hits));
    CHECK(tested.failures.size() == 1);
}

TEST_CASE("what is read again is chosen with what reading adds")
{
    ReadInBook tested;
    const SessionStream stream(tested.store().conversations.stream(tested.session.id()));
    const RereadOptions always{.mode = RereadMode::Always, .tokens = 512, .needs_room = false};
    const auto planned = [&](const std::string& question, PassageEncoder* encoder) {
        const FindingMeans means{.meaning = tested.meaning, .encoder = encoder};
        const auto plan = plan_rereading(tested.store(), stream, tested.session.session(), question, always, means);
        REQUIRE(plan.read.size() == 1);
        return plan.read[0].passage.index;
    };
    size_t others = 0;
    for (const std::string word : {"lamp", "sea", "diary", "bread", "stairs", "letters"}) {
        const std::string question = "Who wrote about the " + word + "?";
        others += planned(question, &tested.encoder) != planned(question, nullptr);
    }
    CHECK(others > 0);
}

TEST_CASE("sentences that are read together with the question are chosen otherwise")
{
    ReadInBook reads, without(false);
    const auto chosen = [](ReadInBook& book) {
        Rereading found;
        for (const PassageHit& hit : book.hits)
            found.read.push_back({hit.passage, 0});
        return FoundSentences(found, {asked}, book.store(), &book.encoder).best("").text;
    };
    CHECK(chosen(reads) != chosen(without));
}
