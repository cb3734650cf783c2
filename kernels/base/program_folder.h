#pragma once

#include <filesystem>

namespace palimpsest {

// The folder of the running program; empty if the system does not say.
std::filesystem::path program_folder();

} // namespace palimpsest
