// The forward pass against logits that tests/fixtures/models/make_fixtures.py computed in float64, from the weights
// as the gguf and safetensors packages read them.

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "engine/session/session.h"
#include "kernels/base/fixed_point_types.h"
#include "tests/support/catch.h"
#include "tests/support/project_folders.h"

using namespace palimpsest;
using namespace palimpsest::engine;

namespace {

const std::string fixtures = tests::source_file("tests/fixtures/");

std::vector<float> read_floats(const std::string& path)
{
    std::ifstream file(path, std::ios::binary);
    REQUIRE(file);
    const std::string bytes((std::istreambuf_iterator<char>(file)), {});
    std::vector<float> values(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
    return values;
}

// Returns the largest error of the row, relative to the largest logit.
double error(const std::vector<float>& logits, const float* expected)
{
    double worst = 0, largest = 0;
    for (size_t i = 0; i < logits.size(); ++i) {
        worst = std::max(worst, std::abs(static_cast<double>(logits[i]) - static_cast<double>(expected[i])));
        largest = std::max(largest, std::abs(static_cast<double>(expected[i])));
    }
    return worst / largest;
}

// Whether prefill computes some matrix products in fixed point, with activations of 16 bits.
bool in_fixed_point(const Model& model)
{
    const auto matrices = model.matrices();
    return !model.backend().exact_products() &&
           std::any_of(matrices.begin(), matrices.end(),
                       [](const auto& matrix) { return kernels::prefills_in_fixed_point(matrix.type); });
}

} // namespace

TEST_CASE("logits are those of independent float64 forward passes")
{
    // Llama and related models, computed with NumPy; then every model family, computed with transformers.
    const std::string folder = fixtures + GENERATE(as<std::string>(), "models/", "families/");
    std::ifstream file(folder + "index.json");
    const auto index = nlohmann::json::parse(file);
    REQUIRE(index["models"].size() >= 10);
    const int chunk = GENERATE(1, 5, 64);
    const bool exact = GENERATE(true, false);
    const auto positions = GENERATE(PositionMode::Contiguous, PositionMode::Original);
    for (const auto& entry : index["models"]) {
        const std::string path = entry["path"];
        INFO(path << ", chunk " << chunk << ", exact " << exact);
        const auto model = Model::load(
            folder + path,
            kernels::open_backend({.device = "cpu", .threads = 2, .simd = "", .exact_products = exact}));
        Session session(model, {.policy = {"full", {}},
                                .budget = 0,
                                .chunk = chunk,
                                .positions = positions,
                                .kv_type = kernels::DType::F32,
                                .rows_at_once = 64,
                                .sampler = {}});
        const auto tokens = entry["tokens"].get<std::vector<TokenId>>();
        const auto expected = read_floats(folder + entry["logits"].get<std::string>());
        const size_t first = entry["first_position"];
        const auto width = static_cast<size_t>(model->config().vocabulary);
        REQUIRE(expected.size() == (tokens.size() - first) * width);
        session.feed(std::span(tokens).first(first));
        double worst = 0;
        for (size_t row = 0; first + row < tokens.size(); ++row) {
            session.feed(std::span(tokens).subspan(first + row, 1));
            worst = std::max(worst, error(session.logits(), expected.data() + row * width));
        }
        CHECK(worst <= (in_fixed_point(*model) ? 2e-4 : 2e-5));
    }
}
