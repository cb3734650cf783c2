// The tiny encoder of tests/fixtures/encoder, and copies of its folder that tests damage.
#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "engine/text/subwords/vocabulary.h"
#include "tests/support/fixtures/refused.h"
#include "tests/support/fixtures/scratch_folder.h"
#include "tests/support/fixtures/tiny_model.h"

namespace palimpsest::test {

struct EncoderCase {
    std::string text;
    std::vector<engine::TokenId> ids; // with the special tokens; cut to 48
    std::vector<float> embedding;
};

std::vector<EncoderCase> encoder_cases(const char* file = "cases.json");
std::filesystem::path encoder_fixture(); // the folder of the tiny encoder

std::string read_file(const std::filesystem::path& path);
SafetensorsEntries entries_of(const std::string& bytes); // of a safetensors file

class EncoderCopy {
public:
    EncoderCopy();

    const std::filesystem::path& path() const { return folder_.path(); }
    std::string text(const char* name) const { return read_file(path() / name); }
    void write(const char* name, std::string_view text) const;
    void remove(const char* name) const { std::filesystem::remove(path() / name); }
    void edit(const char* name, const std::function<void(nlohmann::json&)>& change) const;
    void edit_tensors(const std::function<void(SafetensorsEntries&)>& change) const;
    Refused refusal() const; // of opening the folder

private:
    ScratchFolder folder_;
};

} // namespace palimpsest::test
