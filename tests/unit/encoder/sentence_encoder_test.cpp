// Embeddings compared with those of transformers in float64, and the contract of SentenceEncoder.
#include "engine/encoder/sentence_encoder.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <thread>

#include "engine/encoder/word_piece_file.h"
#include "kernels/base/convert.h"
#include "tests/support/catch.h"
#include "tests/support/every_target.h"
#include "tests/unit/encoder/encoder_fixture.h"

using namespace palimpsest;
using namespace palimpsest::engine;
using namespace palimpsest::test;

namespace {

constexpr size_t columns = 32;

std::unique_ptr<kernels::Backend> cpu(int threads = 1, const std::string& simd = "")
{
    return kernels::open_backend({.device = "cpu", .threads = threads, .simd = simd});
}

std::vector<std::string_view> texts_of(const std::vector<EncoderCase>& cases)
{
    std::vector<std::string_view> texts;
    texts.reserve(cases.size());
    for (const EncoderCase& c : cases)
        texts.push_back(c.text);
    return texts;
}

// The largest difference of a component between embeddings and cases.
double worst_difference(const std::vector<float>& embeddings, const std::vector<EncoderCase>& cases)
{
    REQUIRE(embeddings.size() == cases.size() * columns);
    double worst = 0;
    for (size_t i = 0; i < embeddings.size(); ++i) {
        const double difference =
            static_cast<double>(embeddings[i]) - static_cast<double>(cases[i / columns].embedding[i % columns]);
        worst = std::max(worst, std::isnan(difference) ? 1e30 : std::abs(difference));
    }
    return worst;
}

std::vector<float> embedding_of(SentenceEncoder& encoder, std::string_view text)
{
    return encoder.encode({&text, 1});
}

// Stores every f32 tensor as another type.
void convert_tensors(const EncoderCopy& copy, kernels::DType type, const char* name)
{
    copy.edit_tensors([&](SafetensorsEntries& entries) {
        for (auto& [tensor, entry] : entries) {
            if (entry.dtype != "F32") continue;
            std::vector<float> values(entry.data.size() / sizeof(float));
            std::memcpy(values.data(), entry.data.text().data(), entry.data.size());
            std::vector<std::byte> converted(values.size() * 2);
            kernels::from_f32(type, values.data(), converted.data(), std::ssize(values));
            entry.data = Bytes({reinterpret_cast<const char*>(converted.data()), converted.size()});
            entry.dtype = name;
        }
    });
}

} // namespace

TEST_CASE("embeddings are those of transformers, on every SIMD target")
{
    const std::vector<EncoderCase> cases = encoder_cases();
    for (const std::string& target : kernels::simd_targets()) {
        const auto backend = cpu(2, target);
        const auto encoder = SentenceEncoder::open(encoder_fixture(), *backend);
        CHECK(encoder->width() == columns);
        CHECK(encoder->max_tokens() == 48);
        INFO(target);
        CHECK(worst_difference(encoder->encode(texts_of(cases)), cases) < 2e-6);
    }
}

TEST_CASE("embeddings of an encoder with a change are those of transformers")
{
    const std::vector<EncoderCase> cases = encoder_cases("change_cases.json");
    const auto change = encoder_fixture().parent_path() / "change.safetensors";
    const auto backend = cpu();
    const auto encoder = SentenceEncoder::open(encoder_fixture(), *backend),
               other = SentenceEncoder::open(encoder_fixture(), *backend);
    const std::string identity = encoder->identity();
    CHECK(worst_difference(encoder->encode(texts_of(cases)), cases) > 1e-2);
    encoder->change(change);
    CHECK(worst_difference(encoder->encode(texts_of(cases)), cases) < 2e-6);
    CHECK(encoder->identity() != identity);
    other->change(change);
    CHECK(encoder->identity() == other->identity());
    encoder->change(change); // once more is another change
    CHECK(encoder->identity() != other->identity());
    CHECK(worst_difference(encoder->encode(texts_of(cases)), cases) > 1e-3);
}

TEST_CASE("a change that does not fit the encoder is refused and changes nothing")
{
    const std::string bytes = read_file(encoder_fixture().parent_path() / "change.safetensors");
    const EncoderCopy copy;
    const auto backend = cpu();
    const auto encoder = SentenceEncoder::open(encoder_fixture(), *backend);
    const std::string identity = encoder->identity();
    const auto refusal_of = [&](const std::function<void(SafetensorsEntries&)>& edit) {
        SafetensorsEntries entries = entries_of(bytes);
        edit(entries);
        copy.write("change", Bytes(safetensors(entries)).text());
        return refused([&] { encoder->change(copy.path() / "change"); }).code;
    };
    const std::string value = "encoder.layer.0.attention.self.value.weight",
                      bias = "encoder.layer.1.output.dense.bias";
    const auto rename = [](const std::string& from, const std::string& to) {
        return [=](SafetensorsEntries& entries) {
            entries[to] = entries.at(from);
            entries.erase(from);
        };
    };
    CHECK(refusal_of(rename(value + ".up", "encoder.layer.9.attention.self.value.weight.up")) == "PAL-MODEL-S9");
    CHECK(refusal_of(rename(value + ".down", "other.down")) == "PAL-MODEL-S9");
    CHECK(refusal_of(rename(value + ".up", "other")) == "PAL-MODEL-S9");
    CHECK(refusal_of(rename(bias + ".add", value + ".add")) == "PAL-MODEL-S9");
    CHECK(refusal_of([&](SafetensorsEntries& entries) {
              entries.at(value + ".up").shape = {3, 32};
          }) == "PAL-MODEL-S9");
    CHECK(refusal_of([&](SafetensorsEntries& entries) {
              entries.at(bias + ".add").shape = {1, 32};
          }) == "PAL-MODEL-S9");
    copy.write("change", bytes.substr(0, bytes.size() / 2));
    CHECK(refused([&] { encoder->change(copy.path() / "change"); }).code == "PAL-MODEL-S5");
    CHECK(refused([&] { encoder->change(copy.path() / "none"); }).code != "");
    const std::vector<EncoderCase> cases = encoder_cases();
    CHECK(worst_difference(encoder->encode(texts_of(cases)), cases) < 2e-6);
    CHECK(encoder->identity() == identity);
    CHECK(refusal_of([](SafetensorsEntries&) {}) == "");
}

TEST_CASE("every embedding has length 1, that of an empty text too")
{
    const auto backend = cpu();
    const auto encoder = SentenceEncoder::open(encoder_fixture(), *backend);
    CHECK(encoder->encode({}).empty());
    for (const std::string_view text : {"", "   ", "\xFF", "the lamp", "\u200b"}) {
        const std::vector<float> embedding = embedding_of(*encoder, text);
        const float squares = std::inner_product(embedding.begin(), embedding.end(), embedding.begin(), 0.0f);
        CHECK(std::abs(squares - 1) < 1e-6f);
    }
    CHECK(embedding_of(*encoder, "") == embedding_of(*encoder, " \n"));
}

TEST_CASE("an embedding depends neither on the other texts, their order nor the number of threads")
{
    const std::vector<EncoderCase> cases = encoder_cases();
    std::vector<std::string_view> texts = texts_of(cases);
    const auto one = cpu(1);
    const auto alone = SentenceEncoder::open(encoder_fixture(), *one);
    std::vector<float> expected;
    for (const std::string_view text : texts) {
        const auto embedding = embedding_of(*alone, text);
        expected.insert(expected.end(), embedding.begin(), embedding.end());
    }
    for (const int threads : {1, 2, 5}) {
        const auto backend = cpu(threads);
        const auto encoder = SentenceEncoder::open(encoder_fixture(), *backend);
        CHECK(encoder->encode(texts) == expected);
        std::vector<std::string_view> reversed(texts.rbegin(), texts.rend());
        const std::vector<float> backwards = encoder->encode(reversed);
        for (size_t i = 0; i < texts.size(); ++i)
            CHECK(std::equal(expected.begin() + static_cast<int64_t>(i * columns),
                             expected.begin() + static_cast<int64_t>((i + 1) * columns),
                             backwards.begin() + static_cast<int64_t>((texts.size() - 1 - i) * columns)));
    }
}

TEST_CASE("a text longer than the encoder takes is cut")
{
    const auto backend = cpu();
    const auto encoder = SentenceEncoder::open(encoder_fixture(), *backend);
    std::string begin, rest = " and a gull that wanted the bread";
    for (int i = 0; i < 46; ++i)
        begin += "the ";
    CHECK(embedding_of(*encoder, begin) == embedding_of(*encoder, begin + rest));
    CHECK(embedding_of(*encoder, begin.substr(4)) != embedding_of(*encoder, begin.substr(4) + rest));
}

TEST_CASE("a requested stop gives no embeddings, and the encoder can be used again")
{
    const auto backend = cpu(2);
    const auto encoder = SentenceEncoder::open(encoder_fixture(), *backend);
    const std::vector<EncoderCase> cases = encoder_cases();
    std::stop_source stopped;
    stopped.request_stop();
    CHECK(encoder->encode(texts_of(cases), stopped.get_token()).empty());
    CHECK(worst_difference(encoder->encode(texts_of(cases)), cases) < 2e-6);

    std::vector<std::string_view> many(200000, "the lighthouse keeper kept a diary"); // minutes of work
    std::stop_source later;
    std::jthread stopping([&] { later.request_stop(); });
    CHECK(encoder->encode(many, later.get_token()).empty());
    CHECK(worst_difference(encoder->encode(texts_of(cases)), cases) < 2e-6);
}

TEST_CASE("weights of 16 bits give nearly the same embeddings")
{
    const std::vector<EncoderCase> cases = encoder_cases();
    const auto backend = cpu();
    const EncoderCopy half, brain;
    convert_tensors(half, kernels::DType::F16, "F16");
    convert_tensors(brain, kernels::DType::BF16, "BF16");
    CHECK(worst_difference(SentenceEncoder::open(half.path(), *backend)->encode(texts_of(cases)), cases) < 5e-3);
    CHECK(worst_difference(SentenceEncoder::open(brain.path(), *backend)->encode(texts_of(cases)), cases) < 5e-2);
}

TEST_CASE("tensors at odd addresses give the same embeddings")
{
    const std::vector<EncoderCase> cases = encoder_cases();
    const auto backend = cpu();
    const EncoderCopy copy;
    const std::string whole = copy.text("model.safetensors");
    uint64_t header_bytes = 0;
    std::memcpy(&header_bytes, whole.data(), sizeof header_bytes);
    const uint64_t longer = header_bytes + 1;
    std::string odd(sizeof longer, '\0');
    std::memcpy(odd.data(), &longer, sizeof longer);
    odd += whole.substr(sizeof longer, header_bytes) + " " + whole.substr(sizeof longer + header_bytes);
    copy.write("model.safetensors", odd);
    CHECK(SentenceEncoder::open(copy.path(), *backend)->encode(texts_of(cases)) ==
          SentenceEncoder::open(encoder_fixture(), *backend)->encode(texts_of(cases)));
}

TEST_CASE("weights that are not finite are reported when a text is encoded")
{
    const auto backend = cpu();
    const EncoderCopy copy;
    copy.edit_tensors([](SafetensorsEntries& entries) {
        Bytes& bias = entries["encoder.layer.1.output.dense.bias"].data;
        bias = Bytes().number(std::numeric_limits<float>::quiet_NaN()).append(bias.text().substr(4));
    });
    const auto encoder = SentenceEncoder::open(copy.path(), *backend);
    CHECK(refused([&] { embedding_of(*encoder, "the lamp"); }).message ==
          "sentence encoder: a text has no embedding: its numbers are not finite, or all 0; download the encoder "
          "again "
          "or use another one [PAL-MODEL-15]");
}
