// Changes every byte of a valid model in three ways, and truncates it at every length: each variant must give an
// error or a readable model (docs/validation.md, V3).

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "engine/model/files/gguf_file.h"
#include "engine/model/files/gguf_model.h"
#include "engine/model/files/hf_config.h"
#include "engine/model/files/model_tensors.h"
#include "tests/support/catch.h"
#include "tests/support/fixtures/refused.h"
#include "tests/support/fixtures/tiny_model.h"
#include "tests/support/project_folders.h"
#include "tests/support/sweep_part.h"
#include "tests/support/test_level.h"

using namespace palimpsest;
using namespace palimpsest::engine;
using namespace palimpsest::test;

namespace {

struct Outcome {
    uint64_t runs = 0, refused = 0;
};

// Any outcome but an Error or a readable model fails the test.
void attempt(const Bytes& bytes, const std::function<ModelFiles(const Bytes&)>& open, Outcome& outcome)
{
    ++outcome.runs;
    const Refused refusal = refused([&] {
        const ModelFiles model = open(bytes);
        touch(model);
        REQUIRE(required_tensors(model.config).size() == model.tensors.size());
    });
    if (refusal.code.empty()) return;
    ++outcome.refused;
    if (refusal.code.rfind("PAL-MODEL-", 0) != 0 || refusal.message.size() > 1000) FAIL(refusal.message);
}

struct Strides {
    size_t metadata, weights; // in bytes
    size_t metadata_bytes = SIZE_MAX;
};

Outcome sweep(const Bytes& valid, const std::function<ModelFiles(const Bytes&)>& open, const Strides& strides)
{
    Outcome outcome;
    const tests::SweepPart part = tests::sweep_part();
    size_t position = 0;
    for (size_t i = 0; i < valid.size(); i += i < strides.metadata_bytes ? strides.metadata : strides.weights) {
        if (!part.has(position++)) continue;
        for (const unsigned mask : {0x01u, 0x80u, 0xFFu}) {
            Bytes changed = valid;
            changed[i] ^= static_cast<std::byte>(mask);
            attempt(changed, open, outcome);
        }
        Outcome truncated;
        attempt(Bytes(valid).cut_to(i), open, truncated);
        if (truncated.refused != 1) FAIL("a file cut to " << i << " bytes was accepted");
        outcome.runs += truncated.runs;
        outcome.refused += truncated.refused;
    }
    return outcome;
}

Outcome sweep(const Bytes& valid, const std::function<ModelFiles(const Bytes&)>& open)
{
    const size_t stride = tests::at_full_level() ? 1 : tests::at_ci_level() ? 37 : 16;
    return sweep(valid, open, {stride, stride});
}

void report(const char* what, const Bytes& valid, const Outcome& outcome)
{
    std::cout << what << " of " << valid.size() << " bytes: " << outcome.runs << " variants, " << outcome.refused
              << " refused, all others readable\n";
    if (tests::sweep_part().is_all()) CHECK(outcome.refused < outcome.runs);
}

// Files in tests/fixtures/families with this ending, sorted.
std::vector<std::filesystem::path> family_files(const std::string& ending)
{
    std::vector<std::filesystem::path> paths;
    const std::filesystem::path folder = tests::source_file("tests/fixtures/families");
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
        if (entry.path().string().ends_with(ending)) paths.push_back(entry.path());
    std::sort(paths.begin(), paths.end());
    return paths;
}

Bytes contents(const std::filesystem::path& path)
{
    std::ifstream file(path, std::ios::binary);
    return Bytes(std::string(std::istreambuf_iterator<char>(file), {}));
}

} // namespace

TEST_CASE("V3: a GGUF file with any byte changed opens or is refused")
{
    const Bytes valid = tiny_gguf(tests::at_full_level() ? 370 : 270).build();
    REQUIRE(valid.size() <= 128 * 1024);
    report("GGUF", valid,
           sweep(valid, [](const Bytes& bytes) { return open_gguf(in_memory(bytes, "tiny.gguf")); }));
}

TEST_CASE("V3: a quantised GGUF file with any byte changed opens or is refused")
{
    constexpr uint32_t types[] = {2, 3, 6, 7, 8, 20, 39}; // all with blocks of 32, the width of the tiny model
    constexpr size_t block_bytes[] = {18, 20, 22, 24, 34, 18, 17};
    auto builder = tiny_gguf();
    size_t matrices = 0;
    for (auto& tensor : builder.tensors) {
        if (tensor.dims.size() != 2) continue;
        const size_t which = matrices++ % std::size(types);
        tensor.type = types[which];
        tensor.data.cut_to(tensor.dims[0] / 32 * tensor.dims[1] * block_bytes[which]);
    }
    REQUIRE(matrices > std::size(types));
    const Bytes valid = builder.build();
    report("quantised GGUF", valid,
           sweep(valid, [](const Bytes& bytes) { return open_gguf(in_memory(bytes, "tiny.gguf")); }));
}

TEST_CASE("V3: a GGUF file with any single byte of its metadata inverted opens or is refused")
{
    const Bytes valid = tiny_gguf().build();
    Outcome outcome;
    const size_t header = valid.size() - 4 * (2 * 270 * 32 + 3 * 32 + 2 * 32 * 32 + 2 * 16 * 32 + 3 * 32 * 32);
    for (size_t i = 0; i < header; ++i) {
        Bytes changed = valid;
        changed[i] ^= std::byte{0xFF};
        attempt(
            changed, [](const Bytes& bytes) { return open_gguf(in_memory(bytes, "tiny.gguf")); }, outcome);
    }
    report("GGUF metadata", valid, outcome);
}

TEST_CASE("V3: a safetensors folder with any byte changed opens or is refused")
{
    TinyFolder folder;
    const Bytes weights = folder.weights["model.safetensors"];
    report("safetensors", weights, sweep(weights, [&](const Bytes& bytes) {
               folder.weights["model.safetensors"] = bytes;
               return assemble_hf_model(folder.files());
           }));
}

TEST_CASE("V3: config.json and tokenizer.model with any byte changed are read or refused")
{
    TinyFolder folder;
    folder.tokenizer_model = tiny_spm_model();
    for (const bool is_config : {true, false}) {
        const Bytes valid = is_config ? Bytes(folder.config) : folder.tokenizer_model;
        Outcome outcome;
        for (size_t i = 0; i < valid.size(); ++i) {
            for (const unsigned mask : {0x01u, 0x80u, 0xFFu}) {
                Bytes changed = valid;
                changed[i] ^= static_cast<std::byte>(mask);
                TinyFolder broken = folder;
                if (is_config)
                    broken.config = changed.text();
                else
                    broken.tokenizer_model = changed;
                attempt(
                    changed, [&](const Bytes&) { return assemble_hf_model(broken.files()); }, outcome);
            }
        }
        report(is_config ? "config.json" : "tokenizer.model", valid, outcome);
    }
}

TEST_CASE("GGUF files of every family with any byte changed open or are refused")
{
    const auto paths = family_files(".gguf");
    REQUIRE(paths.size() >= 10);
    for (const auto& path : paths) {
        const Bytes valid = contents(path);
        const std::string name = path.filename().string();
        INFO(name);
        // A changed byte of the weights only changes a number, so a few of them are enough.
        const Strides strides = {tests::at_ci_level() ? size_t{37} : 16, tests::at_full_level() ? size_t{16} : 1024,
                                 GgufFile::parse(valid.get(), Refusal(name)).header_bytes()};
        const auto open = [&](const Bytes& bytes) { return open_gguf(in_memory(bytes, name)); };
        report(name.c_str(), valid, sweep(valid, open, strides));
    }
}

TEST_CASE("config.json of every family with any byte changed is read or refused")
{
    const auto paths = family_files("config.json");
    REQUIRE(paths.size() >= 10);
    for (const auto& path : paths) {
        const std::string name = path.parent_path().filename().string() + "/config.json";
        INFO(name);
        const Bytes valid = contents(path);
        Outcome outcome;
        for (size_t i = 0; i < valid.size(); ++i)
            for (const unsigned mask : {0x01u, 0x80u, 0xFFu}) {
                Bytes changed = valid;
                changed[i] ^= static_cast<std::byte>(mask);
                ++outcome.runs;
                const Refused refusal = refused([&] {
                    const HfConfig config = parse_hf_config(changed.text(), Refusal("config.json"));
                    REQUIRE(parameter_count(config.model) > 0);
                });
                outcome.refused += !refusal.code.empty();
                if (!refusal.code.empty() && !refusal.code.starts_with("PAL-MODEL-")) FAIL(refusal.message);
            }
        report(name.c_str(), valid, outcome);
    }
}
