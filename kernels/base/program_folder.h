#pragma once

#include <filesystem>

namespace palimpsest {

// The folder of the running program; empty if the system does not say.
std::filesystem::path program_folder();

// A file that is installed with the program: `name` below the nearest folder that has it, above the program's own.
// Empty if none has it.
std::filesystem::path installed_file(const std::filesystem::path& name);

} // namespace palimpsest
