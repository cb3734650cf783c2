#include "engine/model/files/folder_file.h"

#include "engine/model/files/refusal.h"

namespace palimpsest::engine {
namespace {

namespace fs = std::filesystem;

bool stays_inside(const fs::path& folder, const fs::path& file)
{
    std::error_code error;
    const fs::path home = fs::canonical(folder, error);
    const fs::path real = fs::canonical(file, error);
    if (error) return true; // opening the file reports the error
    const fs::path target = real.parent_path();
    if (target == home) return true;
    return home.parent_path().filename() == "snapshots" && target == home.parent_path().parent_path() / "blobs";
}

} // namespace

std::shared_ptr<MappedFile> open_folder_file(const fs::path& folder, const std::string& name, uint64_t limit,
                                             ErrorCode rule)
{
    const fs::path path = folder / name;
    if (!stays_inside(folder, path))
        Refusal(path.string())
            .fail(ErrorCode::ModelS8, Text("it is a link to a file outside of the model's folder"),
                  Text("copy the file there"));
    return MappedFile::open(path, limit, rule);
}

std::shared_ptr<MappedFile> find_folder_file(const fs::path& folder, const std::string& name, uint64_t limit,
                                             ErrorCode rule)
{
    std::error_code ignored;
    if (!fs::exists(fs::symlink_status(folder / name, ignored))) return nullptr;
    return open_folder_file(folder, name, limit, rule);
}

} // namespace palimpsest::engine
