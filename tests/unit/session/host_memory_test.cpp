// Available memory, read from folders laid out like /proc and /sys/fs/cgroup of Linux.
#include "engine/session/host_memory.h"

#include <fstream>

#include "tests/support/catch.h"
#include "tests/support/fixtures/scratch_folder.h"

using namespace palimpsest;
using engine::available_memory;

namespace {

constexpr uint64_t mib = 1 << 20;

class System {
public:
    explicit System(uint64_t available)
    {
        write("proc/meminfo", "MemTotal: 99999999 kB\nMemAvailable: " + std::to_string(available / 1024) + " kB\n");
    }
    void write(const std::string& path, const std::string& content) const
    {
        const auto file = folder_.path() / path;
        std::filesystem::create_directories(file.parent_path());
        std::ofstream(file) << content;
    }
    void group(const std::string& path, const std::string& limit, uint64_t used,
               const std::string& statistics) const
    {
        write("sys/fs/cgroup" + path + "/memory.max", limit + "\n");
        write("sys/fs/cgroup" + path + "/memory.current", std::to_string(used) + "\n");
        write("sys/fs/cgroup" + path + "/memory.stat", statistics);
    }
    uint64_t available() const { return available_memory(folder_.path().string()); }

private:
    test::ScratchFolder folder_;
};

std::string page_cache(const std::string& prefix, uint64_t active, uint64_t inactive)
{
    return "anon 12345\nfile 99999\n" + prefix + "inactive_anon 5\n" + prefix + "active_anon 6\n" + prefix +
           "inactive_file " + std::to_string(inactive) + "\n" + prefix + "active_file " + std::to_string(active) +
           "\n" + prefix + "unevictable 0\n";
}

} // namespace

TEST_CASE("the page cache of a control group counts as available")
{
    const System system(5000 * mib);
    system.write("proc/self/cgroup", "0::/user.slice/shell\n");
    system.group("/user.slice/shell", std::to_string(1000 * mib), 900 * mib, page_cache("", 500 * mib, 200 * mib));
    CHECK(system.available() == 800 * mib);
    system.group("/user.slice/shell", std::to_string(1000 * mib), 900 * mib, page_cache("", 0, 0));
    CHECK(system.available() == 100 * mib);
    system.group("/user.slice/shell", std::to_string(1000 * mib), 900 * mib, page_cache("", 900 * mib, 90 * mib));
    CHECK(system.available() == 1000 * mib); // the counters are not read at the same moment
}

TEST_CASE("the page cache counts as available in control groups of version 1, too")
{
    const System system(5000 * mib);
    system.write("proc/self/cgroup", "7:cpu,cpuacct:/x\n4:memory:/jobs/a\n");
    const std::string folder = "sys/fs/cgroup/memory/jobs/a/memory.";
    system.write(folder + "limit_in_bytes", std::to_string(600 * mib));
    system.write(folder + "usage_in_bytes", std::to_string(500 * mib));
    system.write(folder + "stat", page_cache("total_", 300 * mib, 50 * mib));
    CHECK(system.available() == 450 * mib);
}

TEST_CASE("the tightest limit of all control groups above a process counts, and 'max' is no limit")
{
    const System system(5000 * mib);
    system.write("proc/self/cgroup", "0::/outer/inner\n");
    system.group("/outer/inner", "max", 900 * mib, page_cache("", 0, 0));
    CHECK(system.available() == 5000 * mib);
    system.group("/outer", std::to_string(2000 * mib), 1900 * mib, page_cache("", 0, 50 * mib));
    CHECK(system.available() == 150 * mib);
    system.group("/outer", std::to_string(9000 * mib), 1900 * mib, page_cache("", 0, 0));
    CHECK(system.available() == 5000 * mib);
}

TEST_CASE("memory counts as unlimited if the system does not report it")
{
    const test::ScratchFolder empty;
    CHECK(available_memory(empty.path().string()) == UINT64_MAX);
}
