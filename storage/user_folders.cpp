#include "storage/user_folders.h"

#include <cstdlib>

namespace palimpsest::storage {
namespace {

std::string environment(const char* name)
{
    const char* value = std::getenv(name);
    return value ? value : "";
}

std::string xdg(const char* variable, const char* below_home)
{
    const std::string set = environment(variable);
    return (set.empty() ? environment("HOME") + below_home : set) + "/palimpsest";
}

} // namespace

std::string data_folder()
{
    return xdg("XDG_DATA_HOME", "/.local/share");
}

std::string config_path()
{
    return xdg("XDG_CONFIG_HOME", "/.config") + "/config.json";
}

} // namespace palimpsest::storage
