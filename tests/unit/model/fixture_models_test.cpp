// Reads the models of tests/fixtures/models, which were written by other programs: valid files must be accepted.

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "engine/model/files/open_model.h"
#include "engine/model/model.h"
#include "kernels/base/convert.h"
#include "tests/support/catch.h"
#include "tests/support/fixtures/tiny_model.h"
#include "tests/support/project_folders.h"

using namespace palimpsest;
using namespace palimpsest::engine;

namespace {

const std::filesystem::path folder = tests::source_file("tests/fixtures/models");

void check_config(const ModelConfig& c, const nlohmann::json& expected)
{
    CHECK(c.architecture == expected["architecture"].get<std::string>());
    CHECK(c.layers == expected["layers"]);
    CHECK(c.dim == expected["dim"]);
    CHECK(c.heads == expected["heads"]);
    CHECK(c.kv_heads == expected["kv_heads"]);
    CHECK(c.head_dim == expected["head_dim"]);
    CHECK(c.ffn == expected["ffn"]);
    CHECK(c.vocabulary == expected["vocabulary"]);
    CHECK(c.context == expected["context"]);
    CHECK(c.rms_epsilon == expected["rms_epsilon"].get<float>());
    CHECK(c.rope.base == expected["rope_base"].get<float>());
    CHECK(c.tied_embeddings == expected["tied"]);
    CHECK(c.qkv_bias == expected["qkv_bias"]);
    const auto factors = expected["rope_factors"].get<std::vector<double>>();
    REQUIRE(c.rope.factors.size() == factors.size());
    for (size_t i = 0; i < factors.size(); ++i)
        CHECK(static_cast<double>(c.rope.factors[i]) == Approx(factors[i]).epsilon(1e-6));
}

float value(const HostTensor& tensor, int64_t row, int64_t col)
{
    std::vector<float> values(static_cast<size_t>(tensor.cols));
    kernels::to_f32(tensor.type, tensor.data + row * kernels::row_bytes(tensor.type, tensor.cols), values.data(),
                    tensor.cols);
    return values[static_cast<size_t>(col)];
}

} // namespace

TEST_CASE("models that the gguf and safetensors packages wrote have the expected configuration and values")
{
    const auto index = nlohmann::json::parse(std::ifstream(folder / "index.json"));
    REQUIRE(index["models"].size() >= 10);
    for (const auto& expected : index["models"]) {
        const std::string path = expected["path"];
        INFO(path);
        const ModelFiles model = open_model(folder / path);
        CHECK(model.format == expected["format"].get<std::string>());
        check_config(model.config, expected);
        CHECK(model.config.paired_rotary ==
              (model.format != "safetensors" && model.config.architecture == "llama"));
        for (const auto& number : expected["values"]) {
            INFO(number["tensor"].get<std::string>());
            const HostTensor* tensor = model.find(number["tensor"]);
            REQUIRE(tensor);
            CHECK(value(*tensor, number["row"], number["col"]) == number["value"].get<float>());
        }
        CHECK(expected["values"].size() == model.tensors.size());
        const auto rows = expected["positions"].get<uint64_t>();
        CHECK(std::filesystem::file_size(folder / expected["logits"].get<std::string>()) == rows * 320 * 4);
        test::touch(model);
    }
}

TEST_CASE("models of every family have the expected architecture and values")
{
    const std::filesystem::path families = folder.parent_path() / "families";
    const auto index = nlohmann::json::parse(std::ifstream(families / "index.json"));
    REQUIRE(index["models"].size() >= 20);
    for (const auto& expected : index["models"]) {
        const std::string path = expected["path"];
        INFO(path);
        const ModelFiles model = open_model(families / path);
        CHECK(model.format == expected["format"].get<std::string>());
        CHECK(model.config.architecture == expected["architecture"].get<std::string>());
        for (const auto& number : expected["values"]) {
            INFO(number["tensor"].get<std::string>());
            const HostTensor* tensor = model.find(number["tensor"]);
            REQUIRE(tensor);
            CHECK(value(*tensor, number["row"], number["col"]) == number["value"].get<float>());
        }
        CHECK(expected["values"].size() == model.tensors.size());
        for (const Text& warning : model.warnings)
            CHECK(warning.english().find("tensor") == std::string::npos);
        test::touch(model);
    }
}

TEST_CASE("vocabularies that sentencepiece wrote have the expected pieces and special tokens")
{
    const auto gguf = open_model(folder / "llama.f32.gguf").vocabulary;
    CHECK(gguf.kind == Vocabulary::Kind::SpmPieces);
    CHECK(gguf.pieces.size() == 320);
    CHECK(gguf.pieces[3] == "<0x00>");
    CHECK(gguf.types[3] == 6);
    CHECK(gguf.add_bos);
    const auto hf = open_model(folder / "llama").vocabulary;
    CHECK(hf.kind == Vocabulary::Kind::SpmModel);
    CHECK(hf.add_bos);
    for (const Vocabulary* v : {&gguf, &hf}) {
        CHECK(v->bos == 1);
        CHECK(v->eos == 2);
        CHECK(v->unknown == 0);
        CHECK(v->chat_template == "{% for m in messages %}{{ m['content'] }}{% endfor %}");
    }
    const auto qwen2 = open_model(folder / "qwen2.q8_0.gguf");
    CHECK(qwen2.vocabulary.kind == Vocabulary::Kind::None);
    REQUIRE(qwen2.warnings.size() == 1);
    CHECK(qwen2.warnings[0].english().find("pre-tokenizer") != std::string::npos);
}

TEST_CASE("loading a model reports its progress, and can be stopped between two matrices")
{
    const auto index = nlohmann::json::parse(std::ifstream(folder / "index.json"));
    for (const auto& expected : index["models"]) {
        const std::filesystem::path path = folder / expected["path"].get<std::string>();
        INFO(path.string());
        const auto backend = [] { return kernels::open_backend({.device = "cpu", .threads = 1, .simd = ""}); };
        std::vector<double> shares;
        LoadOptions options{.progress = [&](double share) { shares.push_back(share); }};
        REQUIRE(Model::load(path, backend(), options));
        CHECK(shares.size() > 2 * expected["layers"].get<size_t>());
        CHECK(std::is_sorted(shares.begin(), shares.end()));
        CHECK(shares.front() > 0);
        CHECK(shares.front() < 0.9);
        CHECK(shares.back() == 1);

        std::stop_source stop;
        options.stop = stop.get_token();
        size_t heard = 0;
        options.progress = [&](double) {
            if (++heard == 3) stop.request_stop();
        };
        CHECK_FALSE(Model::load(path, backend(), options));
        CHECK(heard == 3);
        CHECK_FALSE(Model::load(path, backend(), options)); // stopped at the beginning
        CHECK(heard == 3);
    }
}
