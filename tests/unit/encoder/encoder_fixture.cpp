#include "tests/unit/encoder/encoder_fixture.h"

#include <fstream>
#include <iterator>

#include "engine/encoder/encoder_folder.h"
#include "engine/model/files/safetensors_file.h"
#include "tests/support/project_folders.h"

namespace palimpsest::test {

namespace fs = std::filesystem;
using nlohmann::json;

std::string read_file(const fs::path& path)
{
    std::ifstream file(path, std::ios::binary);
    if (!file) throw std::runtime_error("no file " + path.string());
    return {std::istreambuf_iterator<char>(file), {}};
}

fs::path encoder_fixture()
{
    return tests::source_file("tests/fixtures/encoder/bert");
}

std::vector<EncoderCase> encoder_cases(const char* name)
{
    const json file = json::parse(read_file(encoder_fixture().parent_path() / name));
    std::vector<EncoderCase> cases;
    for (const json& c : file["cases"])
        cases.push_back({c["text"], c["ids"], c["embedding"]});
    if (cases.size() < 24) throw std::runtime_error(std::string(name) + " has no cases");
    return cases;
}

SafetensorsEntries entries_of(const std::string& bytes)
{
    SafetensorsEntries entries;
    for (const auto& tensor :
         engine::parse_safetensors(std::as_bytes(std::span(bytes)), engine::Refusal("fixture")).tensors)
        entries[tensor.name] = {tensor.dtype, tensor.shape, Bytes(bytes.substr(tensor.offset, tensor.bytes))};
    return entries;
}

EncoderCopy::EncoderCopy()
{
    for (const auto& entry : fs::directory_iterator(encoder_fixture()))
        fs::copy(entry.path(), path() / entry.path().filename());
}

void EncoderCopy::write(const char* name, std::string_view text) const
{
    std::ofstream(path() / name, std::ios::binary) << text;
}

void EncoderCopy::edit(const char* name, const std::function<void(json&)>& change) const
{
    json content = json::parse(text(name));
    change(content);
    write(name, content.dump());
}

void EncoderCopy::edit_tensors(const std::function<void(SafetensorsEntries&)>& change) const
{
    SafetensorsEntries entries = entries_of(text("model.safetensors"));
    change(entries);
    const Bytes out = safetensors(entries);
    write("model.safetensors", out.text());
}

Refused EncoderCopy::refusal() const
{
    return refused([&] { engine::open_encoder_folder(path()); });
}

} // namespace palimpsest::test
