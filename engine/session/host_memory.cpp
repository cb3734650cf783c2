#include "engine/session/host_memory.h"

#include <algorithm>
#include <fstream>
#include <optional>
#include <string>

namespace palimpsest::engine {
namespace {

std::optional<uint64_t> number_in(const std::string& file)
{
    uint64_t number = 0;
    std::ifstream stream(file);
    if (stream >> number) return number;
    return std::nullopt; // missing, or "max"
}

// The number of a "KEY NUMBER" line; 0 if there is none.
uint64_t entry_of(const std::string& file, const std::string& wanted)
{
    std::ifstream lines(file);
    std::string key, rest;
    for (uint64_t number = 0; lines >> key >> number; std::getline(lines, rest))
        if (key == wanted) return number;
    return 0;
}

uint64_t of_machine(const std::string& root)
{
    const uint64_t kib = entry_of(root + "/proc/meminfo", "MemAvailable:");
    return kib ? kib * 1024 : UINT64_MAX;
}

// File names of a memory controller, which differ between versions of control groups.
struct Controller {
    const char *folder, *limit, *usage;
    const char *active_file, *inactive_file; // keys of memory.stat: the page cache
};
constexpr Controller version_1 = {"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
                                  "total_active_file", "total_inactive_file"};
constexpr Controller version_2 = {"/sys/fs/cgroup", "memory.max", "memory.current", "active_file", "inactive_file"};

// The bytes that a group may still allocate. A mapped model file is page cache, most of it on the active list once
// it is in use, so active pages count as available too.
uint64_t of_group(const std::string& folder, const Controller& controller)
{
    const auto most = number_in(folder + "/" + controller.limit), used = number_in(folder + "/" + controller.usage);
    if (!most || !used) return UINT64_MAX;
    const std::string statistics = folder + "/memory.stat";
    const uint64_t cached =
        entry_of(statistics, controller.active_file) + entry_of(statistics, controller.inactive_file);
    const uint64_t taken = *used - std::min(*used, cached);
    return *most - std::min(*most, taken);
}

// A group's limit also applies to its descendants, so this takes the minimum over all ancestors.
uint64_t of_groups(const std::string& root, std::string group, const Controller& controller)
{
    uint64_t least = UINT64_MAX;
    for (;; group = group.substr(0, group.rfind('/'))) {
        while (group.ends_with('/'))
            group.pop_back();
        least = std::min(least, of_group(std::string(root).append(controller.folder).append(group), controller));
        if (group.empty()) return least;
    }
}

} // namespace

uint64_t available_memory(const std::string& root)
{
    uint64_t least = of_machine(root);
    // "0::/GROUP" in version 2, "N:CONTROLLERS:/GROUP" in version 1
    std::ifstream groups(root + "/proc/self/cgroup");
    for (std::string line; std::getline(groups, line);) {
        const size_t first = line.find(':'), second = line.find(':', first + 1);
        if (second == std::string::npos) continue;
        const std::string controllers = line.substr(first + 1, second - first - 1), group = line.substr(second + 1);
        if (controllers.empty())
            least = std::min(least, of_groups(root, group, version_2));
        else if (("," + controllers + ",").find(",memory,") != std::string::npos)
            least = std::min(least, of_groups(root, group, version_1));
    }
    return least;
}

} // namespace palimpsest::engine
