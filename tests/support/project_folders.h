// The folders of the project, found from the test program that runs, so that no path is compiled in.
#pragma once

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

namespace palimpsest::tests {

// The build tree: the first folder above the program with source-folder.txt, which the build writes.
inline const std::filesystem::path& build_folder()
{
    static const std::filesystem::path found = [] {
        auto folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
        while (!std::filesystem::exists(folder / "source-folder.txt")) {
            if (!folder.has_relative_path())
                throw std::runtime_error("there is no source-folder.txt above the test program");
            folder = folder.parent_path();
        }
        return folder;
    }();
    return found;
}

// `name` is relative to the build tree.
inline std::string build_file(const std::string& name)
{
    return (build_folder() / name).string();
}

// `name` is relative to the repository.
inline std::string source_file(const std::string& name)
{
    static const std::string root = [] {
        std::ifstream file(build_folder() / "source-folder.txt");
        std::string line;
        std::getline(file, line);
        return line;
    }();
    return root + "/" + name;
}

} // namespace palimpsest::tests
