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

// "KEY NUMBER" lines.
uint64_t entry_of(const std::string& file, const std::string& wanted)
{
    std::ifstream lines(file);
    std::string key, rest;
    for (uint64_t number = 0; lines >> key >> number; std::getline(lines, rest))
        if (key == wanted) return number;
    return 0;
}

uint64_t of_machine()
{
    const uint64_t kib = entry_of("/proc/meminfo", "MemAvailable:");
    return kib ? kib * 1024 : UINT64_MAX;
}

// What a group may still take; pages of files that were not used lately are given back when others are wanted.
uint64_t of_group(const std::string& folder, const char* limit, const char* usage, const char* reclaimable)
{
    const auto most = number_in(folder + "/" + limit), used = number_in(folder + "/" + usage);
    if (!most || !used) return UINT64_MAX;
    const uint64_t taken = *used - std::min(*used, entry_of(folder + "/memory.stat", reclaimable));
    return *most - std::min(*most, taken);
}

// A limit of a group holds for all groups below it.
uint64_t of_groups(const std::string& root, std::string group, const char* limit, const char* usage,
                   const char* reclaimable)
{
    uint64_t least = UINT64_MAX;
    for (;; group = group.substr(0, group.rfind('/'))) {
        while (group.ends_with('/'))
            group.pop_back();
        least = std::min(least, of_group(root + group, limit, usage, reclaimable));
        if (group.empty()) return least;
    }
}

} // namespace

uint64_t available_memory()
{
    uint64_t least = of_machine();
    std::ifstream groups("/proc/self/cgroup"); // "0::/GROUP" in version 2, "N:CONTROLLERS:/GROUP" in version 1
    for (std::string line; std::getline(groups, line);) {
        const size_t first = line.find(':'), second = line.find(':', first + 1);
        if (second == std::string::npos) continue;
        const std::string controllers = line.substr(first + 1, second - first - 1), group = line.substr(second + 1);
        if (controllers.empty())
            least = std::min(least,
                             of_groups("/sys/fs/cgroup", group, "memory.max", "memory.current", "inactive_file"));
        else if (("," + controllers + ",").find(",memory,") != std::string::npos)
            least = std::min(least, of_groups("/sys/fs/cgroup/memory", group, "memory.limit_in_bytes",
                                              "memory.usage_in_bytes", "total_inactive_file"));
    }
    return least;
}

} // namespace palimpsest::engine
