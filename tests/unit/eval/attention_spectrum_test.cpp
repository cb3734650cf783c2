// The Haar decomposition against PyWavelets and a literal reconstruction, and the spectrum of attended values
// against a model in float64.
#include "engine/eval/attention_spectrum.h"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "engine/eval/full_session.h"
#include "engine/model/files/open_model.h"
#include "tests/support/catch.h"
#include "tests/support/project_folders.h"
#include "tests/support/reference_model.h"
#include "tests/unit/session/session_fixture.h"

using namespace palimpsest;
using namespace palimpsest::engine;
using namespace palimpsest::tests;

namespace {

using Signal = std::vector<double>;

const double half_of_root = std::sqrt(2.0) / 2;

// TreeKV, section 3.2: one level of filtering and down-sampling, and its inverse.
std::pair<Signal, Signal> filtered(const Signal& s)
{
    Signal a, d;
    for (size_t n = 0; n < s.size(); n += 2) {
        a.push_back(s[n + 1] * half_of_root + s[n] * half_of_root);
        d.push_back(s[n + 1] * -half_of_root + s[n] * half_of_root);
    }
    return {a, d};
}

Signal joined(const Signal& a, const Signal& d)
{
    Signal s;
    for (size_t n = 0; n < a.size(); ++n) {
        s.push_back(half_of_root * (a[n] + d[n]));
        s.push_back(half_of_root * (a[n] - d[n]));
    }
    return s;
}

struct Parts {
    std::vector<Signal> details; // Rec(D_l)
    Signal approximation;
};

Parts literal_parts(const Signal& signal, int levels)
{
    Parts parts;
    Signal rest = signal;
    for (int l = 1; l <= levels; ++l) {
        const auto [a, d] = filtered(rest);
        Signal detail = joined(Signal(d.size()), d);
        for (int i = 1; i < l; ++i)
            detail = joined(detail, Signal(detail.size()));
        parts.details.push_back(detail);
        rest = a;
    }
    for (int i = 0; i < levels; ++i)
        rest = joined(rest, Signal(rest.size()));
    parts.approximation = rest;
    return parts;
}

Signal random_signal(size_t count)
{
    std::mt19937_64 random(3);
    std::normal_distribution<double> normal;
    Signal signal(count);
    for (double& x : signal)
        x = normal(random);
    return signal;
}

void check_equal(const Signal& is, const Signal& expected, double margin)
{
    REQUIRE(is.size() == expected.size());
    for (size_t i = 0; i < is.size(); ++i)
        CHECK(is[i] == Approx(expected[i]).margin(margin));
}

// The magnitudes of blocks at every place.
Signal at_places(const Signal& blocks, size_t places)
{
    Signal all;
    for (size_t i = 0; i < places; ++i)
        all.push_back(blocks[i * blocks.size() / places]);
    return all;
}

void check_magnitudes(const HaarMagnitudes& is, const Parts& expected, double margin)
{
    const auto check = [&](const Signal& blocks, Signal signal) {
        for (double& x : signal)
            x = std::abs(x);
        check_equal(at_places(blocks, signal.size()), signal, margin);
    };
    REQUIRE(is.details.size() == expected.details.size());
    for (size_t l = 0; l < is.details.size(); ++l) {
        CHECK(is.details[l].size() == expected.details[l].size() >> (l + 1));
        check(is.details[l], expected.details[l]);
    }
    check(is.approximation, expected.approximation);
}

} // namespace

TEST_CASE("details and approximation are those of PyWavelets")
{
    std::ifstream file(source_file("tests/fixtures/wavelets/haar.json"));
    const auto fixture = nlohmann::json::parse(file);
    Parts expected;
    for (const auto& detail : fixture["details"])
        expected.details.push_back(detail);
    expected.approximation = fixture["approximation"].get<Signal>();
    const Signal signal = fixture["signal"];
    check_magnitudes(haar_magnitudes(signal, 1, 5), expected, 1e-12);
    const Parts literal = literal_parts(signal, 5);
    for (size_t l = 0; l < 5; ++l)
        check_equal(literal.details[l], expected.details[l], 1e-12);
    check_equal(literal.approximation, expected.approximation, 1e-12);
}

TEST_CASE("the parts of a signal sum to it, and have the measured magnitudes")
{
    const Signal signal = random_signal(64);
    const Parts parts = literal_parts(signal, 5);
    Signal sum = parts.approximation;
    for (const Signal& detail : parts.details)
        for (size_t i = 0; i < sum.size(); ++i)
            sum[i] += detail[i];
    check_equal(sum, signal, 1e-12);
    check_magnitudes(haar_magnitudes(signal, 1, 5), parts, 1e-12);
}

TEST_CASE("a square wave is in one level alone, that of half its period")
{
    const int level = GENERATE(1, 2, 3, 4, 5);
    Signal wave;
    for (size_t i = 0; i < 64; ++i)
        wave.push_back((i >> (level - 1)) % 2 == 0 ? 3 : -3);
    const HaarMagnitudes found = haar_magnitudes(wave, 1, 5);
    for (int l = 1; l <= 5; ++l)
        for (const double magnitude : found.details[static_cast<size_t>(l - 1)])
            CHECK(magnitude == Approx(l == level ? 3 : 0).margin(1e-12));
    check_equal(found.approximation, {0, 0}, 1e-12);
}

TEST_CASE("several signals have the mean of their magnitudes, and a constant one no details")
{
    const Signal one = random_signal(32);
    Signal both;
    for (const double x : one) {
        both.push_back(x);
        both.push_back(2);
    }
    const HaarMagnitudes of_one = haar_magnitudes(one, 1, 3), of_both = haar_magnitudes(both, 2, 3);
    for (size_t l = 0; l < 3; ++l)
        for (size_t n = 0; n < of_one.details[l].size(); ++n)
            CHECK(of_both.details[l][n] == Approx(of_one.details[l][n] / 2).margin(1e-12));
    for (size_t n = 0; n < of_one.approximation.size(); ++n)
        CHECK(of_both.approximation[n] == Approx((of_one.approximation[n] + 2) / 2).margin(1e-12));
}

TEST_CASE("the spectrum is that of attention times values in a slow model")
{
    // How far a magnitude may be off, as a share of its level's largest.
    const auto [shape, type, tolerance] =
        GENERATE(std::tuple{RandomModelShape{.layers = 2}, kernels::DType::F32, 1e-4},
                 std::tuple{RandomModelShape{.layers = 2, .dim = 64, .head_dim = 32}, kernels::DType::Q8_0, 5e-2},
                 std::tuple{RandomModelShape{.layers = 2, .architecture = "gemma2", .window = 40},
                            kernels::DType::F16, 1e-2});
    CAPTURE(shape.architecture, kernels::info(type).name);
    const auto path = random_model(shape);
    const ReferenceModel slow(open_model(path));
    const auto model = Model::load(path, kernels::open_backend({.device = "cpu", .threads = 2, .simd = ""}));
    std::filesystem::remove(path); // stays mapped
    const auto text = random_text(96);
    SessionOptions options;
    options.chunk = 40;
    options.kv_type = type;
    const auto full = full_session(model, options, text.size(), {.window = 1, .head_moments = true});
    const auto layers = attention_spectrum(*full, text, 5, {});
    REQUIRE(layers->size() == 2);

    const ModelConfig& c = slow.config();
    std::vector<std::vector<std::vector<double>>> attention(static_cast<size_t>(c.layers * c.kv_heads));
    ReferenceStream stream(slow, true);
    stream.feed(text, [&](int layer, int head, int row, const auto& of_heads) {
        if (row == 95) attention[static_cast<size_t>(layer * c.kv_heads + head)] = of_heads;
    });
    for (int layer = 0; layer < c.layers; ++layer) {
        std::vector<Signal> details(5, Signal(96));
        for (int head = 0; head < c.kv_heads; ++head)
            for (const auto& row : attention[static_cast<size_t>(layer * c.kv_heads + head)])
                for (size_t x = 0; x < static_cast<size_t>(c.head_dim); ++x) {
                    Signal signal(96);
                    for (size_t i = 0; i < 96; ++i)
                        signal[i] = row[i] * stream.list(layer, head)[i].value[x];
                    const Parts parts = literal_parts(signal, 5);
                    for (size_t l = 0; l < 5; ++l)
                        for (size_t i = 0; i < 96; ++i)
                            details[l][i] += std::abs(parts.details[l][i]) / (c.heads * c.head_dim);
                }
        for (size_t l = 0; l < 5; ++l)
            check_equal(at_places((*layers)[static_cast<size_t>(layer)].details[l], 96), details[l],
                        tolerance * *std::ranges::max_element(details[l]));
    }
}
