#include "engine/model/files/bus_guard.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <mutex>
#include <sys/mman.h>
#include <unistd.h>

#include "kernels/base/error.h"

namespace palimpsest::engine {
namespace {

// Accessed in a signal handler, where only lock-free atomics are safe.
struct Range {
    std::atomic<uintptr_t> begin{0};
    std::atomic<uintptr_t> end{0}; // 0: not guarded
    std::atomic<bool> faulted{false};
    std::atomic<bool> taken{false};
};
static_assert(std::atomic<uintptr_t>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

std::array<Range, 4096> ranges;
struct sigaction previous;
uintptr_t page_bytes;

bool replace_page(uintptr_t address)
{
    for (Range& range : ranges) {
        const uintptr_t end = range.end.load(std::memory_order_acquire);
        if (end == 0 || address >= end || address < range.begin.load(std::memory_order_relaxed)) continue;
        void* page = reinterpret_cast<void*>(address & ~(page_bytes - 1)); // NOLINT(performance-no-int-to-ptr)
        const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
        if (mmap(page, page_bytes, PROT_READ, flags, -1, 0) == MAP_FAILED) return false;
        range.faulted.store(true, std::memory_order_release);
        return true;
    }
    return false;
}

void on_bus_error(int signal, siginfo_t* info, void*)
{
    const int saved_errno = errno;
    const bool from_memory = info->si_code > 0; // a memory access, not kill()
    if (from_memory && replace_page(reinterpret_cast<uintptr_t>(info->si_addr))) {
        errno = saved_errno;
        return;
    }
    // Not a guarded range: the previous action handles the signal when the instruction faults again.
    sigaction(SIGBUS, &previous, nullptr);
    if (!from_memory) raise(signal);
    errno = saved_errno;
}

void install_handler()
{
    page_bytes = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
    struct sigaction action = {};
    action.sa_sigaction = on_bus_error;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, &previous);
}

} // namespace

BusGuard::BusGuard(const void* begin, size_t bytes)
{
    static std::once_flag installed;
    std::call_once(installed, install_handler);
    for (slot_ = 0; slot_ < ranges.size(); ++slot_) {
        Range& range = ranges[slot_];
        if (range.taken.exchange(true)) continue;
        range.faulted = false;
        range.begin = reinterpret_cast<uintptr_t>(begin);
        range.end.store(reinterpret_cast<uintptr_t>(begin) + bytes, std::memory_order_release);
        return;
    }
    throw Error(ErrorKind::Resources, ErrorCode::OutOfMemory, Text("model files"),
                Text("{0} of them are open, which is the limit", ranges.size()), Text("close other models"));
}

BusGuard::~BusGuard()
{
    ranges[slot_].end.store(0, std::memory_order_release);
    ranges[slot_].taken = false;
}

bool BusGuard::faulted() const
{
    return ranges[slot_].faulted.load(std::memory_order_acquire);
}

} // namespace palimpsest::engine
