#include "engine/model/files/open_model.h"

#include "engine/model/files/gguf_model.h"
#include "engine/model/files/hf_folder.h"
#include "engine/model/files/split_files.h"

namespace palimpsest::engine {

ModelFiles open_model(const std::filesystem::path& path)
{
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored)) return open_hf_folder(path);
    return open_gguf(open_parts(path));
}

} // namespace palimpsest::engine
