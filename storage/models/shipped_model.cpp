#include "storage/models/shipped_model.h"

#include "kernels/base/program_folder.h"

namespace palimpsest::storage {

std::filesystem::path shipped_model()
{
    constexpr const char* name = "share/palimpsest/palimpsest-small.gguf";
    const auto found = installed_file(name);
    return found.empty() ? program_folder().parent_path() / name : found;
}

std::filesystem::path shipped_encoder_change(const std::string& encoder)
{
    return installed_file("share/palimpsest/encoder/" + encoder + ".safetensors");
}

std::filesystem::path shipped_sentence_change(const std::string& encoder)
{
    return installed_file("share/palimpsest/encoder/sentences/" + encoder + ".safetensors");
}

} // namespace palimpsest::storage
