// Scores of sentences that are read together with a question: compared with those of transformers in float64, and
// the contract of CrossEncoder.
#include "engine/encoder/cross_encoder.h"

#include <cmath>
#include <limits>
#include <thread>

#include "engine/encoder/sentence_encoder.h"
#include "tests/support/catch.h"
#include "tests/support/every_target.h"
#include "tests/unit/encoder/encoder_fixture.h"

using namespace palimpsest;
using namespace palimpsest::engine;
using namespace palimpsest::test;

namespace {

struct ScoreCase {
    std::string question, text, before;
    double score = 0;
};

std::filesystem::path fixture(const char* name)
{
    return encoder_fixture().parent_path() / name;
}

std::vector<ScoreCase> score_cases()
{
    std::vector<ScoreCase> cases;
    const auto file = nlohmann::json::parse(read_file(fixture("sentence_cases.json")));
    for (const auto& c : file["cases"])
        cases.push_back({c["question"], c["text"], c["before"], c["score"]});
    REQUIRE(cases.size() > 16);
    return cases;
}

// The tiny encoder with its change, and what reads sentences with it.
struct Reader {
    explicit Reader(int threads = 1, const std::string& simd = "",
                    const std::filesystem::path& change = fixture("sentences.safetensors"))
        : backend(kernels::open_backend({.device = "cpu", .threads = threads, .simd = simd})),
          encoder(SentenceEncoder::open(encoder_fixture(), *backend))
    {
        encoder->change(fixture("change.safetensors"));
        cross = encoder->cross_encoder(change);
    }
    float score(const ScoreCase& c)
    {
        const SentenceInPlace sentence{c.text, c.before};
        return cross->scores(c.question, {&sentence, 1}).at(0);
    }

    std::unique_ptr<kernels::Backend> backend;
    std::unique_ptr<SentenceEncoder> encoder;
    std::unique_ptr<CrossEncoder> cross;
};

double worst_difference(Reader& reader, const std::vector<ScoreCase>& cases)
{
    double worst = 0;
    for (const ScoreCase& c : cases)
        worst = std::max(worst, std::abs(static_cast<double>(reader.score(c)) - c.score));
    return worst;
}

// Lets a copy of the tiny encoder read so many tokens at once.
void set_positions(const EncoderCopy& copy, int count)
{
    copy.edit("config.json", [&](nlohmann::json& config) { config["max_position_embeddings"] = count; });
    copy.edit("sentence_bert_config.json", [](nlohmann::json& settings) { settings["max_seq_length"] = 7; });
    copy.edit_tensors([&](SafetensorsEntries& entries) {
        auto& positions = entries.at("embeddings.position_embeddings.weight");
        const std::string one(positions.data.text());
        std::string data;
        while (data.size() < one.size() / 64 * static_cast<size_t>(count))
            data += one;
        data.resize(one.size() / 64 * static_cast<size_t>(count));
        positions = {"F32", {static_cast<uint64_t>(count), 32}, Bytes(data)};
        entries.erase("embeddings.position_ids");
    });
}

} // namespace

TEST_CASE("scores are those of transformers, on every SIMD target")
{
    for (const std::string& target : kernels::simd_targets()) {
        INFO(target);
        Reader reader(2, target);
        CHECK(worst_difference(reader, score_cases()) < 2e-5);
    }
}

TEST_CASE("reading sentences leaves the encoder's embeddings and identity as they are")
{
    Reader reader;
    const std::string identity = reader.encoder->identity();
    const std::string_view text = "the lamp";
    const auto before = reader.encoder->encode({&text, 1});
    reader.score(score_cases().front());
    CHECK(reader.encoder->encode({&text, 1}) == before);
    CHECK(reader.encoder->identity() == identity);
}

TEST_CASE("the change for reading is one on top of the encoder's own")
{
    Reader reader;
    const auto unchanged = SentenceEncoder::open(encoder_fixture(), *reader.backend);
    const auto other = unchanged->cross_encoder(fixture("sentences.safetensors"));
    const ScoreCase c = score_cases().front();
    const SentenceInPlace sentence{c.text, c.before};
    CHECK(std::abs(other->scores(c.question, {&sentence, 1}).at(0) - reader.score(c)) > 1e-2f);
}

TEST_CASE("an encoder that reads too few tokens at once is refused")
{
    const auto backend = kernels::open_backend({.device = "cpu", .threads = 1, .simd = ""});
    for (const int positions : {7, 8}) {
        const EncoderCopy copy;
        set_positions(copy, positions);
        const auto encoder = SentenceEncoder::open(copy.path(), *backend);
        CHECK(refused([&] { encoder->cross_encoder(fixture("sentences.safetensors")); }).code ==
              (positions < 8 ? "PAL-MODEL-S9" : ""));
    }
}

TEST_CASE("of question and sentence the first tokens count, of what is before it the last")
{
    const EncoderCopy copy;
    set_positions(copy, 512); // room for all of them
    const auto backend = kernels::open_backend({.device = "cpu", .threads = 1, .simd = ""});
    const auto encoder = SentenceEncoder::open(copy.path(), *backend);
    const auto cross = encoder->cross_encoder(fixture("sentences.safetensors"));
    const auto words = [](int count, const std::string& word) {
        std::string text;
        for (int i = 0; i < count; ++i)
            text += word + ' ';
        return text;
    };
    const auto score = [&](const std::string& question, const std::string& text, const std::string& before) {
        const SentenceInPlace sentence{text, before};
        return cross->scores(question, {&sentence, 1}).at(0);
    };
    const float whole = score(words(64, "lamp"), words(96, "the"), words(80, "keeper"));
    CHECK(score(words(64, "lamp") + "sea", words(96, "the") + "sea", "sea " + words(80, "keeper")) == whole);
    CHECK(score(words(63, "lamp") + "sea", words(96, "the"), words(80, "keeper")) != whole);
    CHECK(score(words(64, "lamp"), words(95, "the") + "sea", words(80, "keeper")) != whole);
    CHECK(score(words(64, "lamp"), words(96, "the"), "sea " + words(79, "keeper")) != whole);
}

TEST_CASE("a score depends neither on the other sentences nor on the number of threads")
{
    const std::vector<ScoreCase> cases = score_cases();
    std::vector<SentenceInPlace> sentences; // enough for several batches
    for (int repeat = 0; repeat < 4; ++repeat)
        for (const ScoreCase& c : cases)
            sentences.push_back({c.text, c.before});
    Reader alone;
    for (const int threads : {1, 2, 5}) {
        Reader reader(threads);
        const auto scores = reader.cross->scores("who kept the lamp?", sentences);
        REQUIRE(scores.size() == sentences.size());
        for (size_t i = 0; i < scores.size(); ++i)
            CHECK(scores[i] == alone.score({"who kept the lamp?", cases[i % cases.size()].text,
                                            cases[i % cases.size()].before}));
    }
    CHECK(alone.cross->scores("who?", {}).empty());
}

TEST_CASE("a requested stop gives no scores, and sentences can be read again")
{
    Reader reader(2);
    const std::vector<SentenceInPlace> many(200000, {"the lighthouse keeper kept a diary", ""}); // minutes of work
    std::stop_source stopped, later;
    stopped.request_stop();
    CHECK(reader.cross->scores("who?", std::span(many).first(1), stopped.get_token()).empty());
    std::jthread stopping([&] { later.request_stop(); });
    CHECK(reader.cross->scores("who?", many, later.get_token()).empty());
    CHECK(worst_difference(reader, score_cases()) < 2e-5);
}

TEST_CASE("a change without a score, or with more, is refused")
{
    const std::string bytes = read_file(fixture("sentences.safetensors"));
    const EncoderCopy copy;
    const auto refusal_of = [&](const std::function<void(SafetensorsEntries&)>& edit) {
        SafetensorsEntries entries = entries_of(bytes);
        edit(entries);
        copy.write("change", Bytes(safetensors(entries)).text());
        return refused([&] { Reader(1, "", copy.path() / "change"); }).message;
    };
    CHECK(refusal_of([](SafetensorsEntries&) {}) == "");
    CHECK_THAT(refusal_of([](SafetensorsEntries& entries) { entries.erase("score"); }),
               Catch::Contains("tensor 'score' is missing"));
    CHECK_THAT(refusal_of([](SafetensorsEntries& entries) {
                   entries.at("score").shape = {4, 8};
               }),
               Catch::Contains("PAL-MODEL-S9"));
    CHECK_THAT(refusal_of([](SafetensorsEntries& entries) { entries["other"] = entries.at("score"); }),
               Catch::Contains("PAL-MODEL-S9"));
    copy.write("change", bytes.substr(0, bytes.size() / 2));
    CHECK(refused([&] { Reader(1, "", copy.path() / "change"); }).code == "PAL-MODEL-S5");
}

TEST_CASE("a score that is not finite as a float is reported")
{
    SafetensorsEntries entries = entries_of(read_file(fixture("sentences.safetensors")));
    const float large = GENERATE(std::numeric_limits<float>::infinity(), std::numeric_limits<float>::max());
    Bytes numbers;
    for (int i = 0; i < 32; ++i)
        numbers.number(large);
    entries.at("score").data = numbers;
    const EncoderCopy copy;
    copy.write("change", Bytes(safetensors(entries)).text());
    Reader reader(1, "", copy.path() / "change");
    CHECK(refused([&] { reader.score(score_cases().front()); }).code == "PAL-MODEL-15");
}
