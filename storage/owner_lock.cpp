#include "storage/owner_lock.h"
#include "storage/owner.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <sys/file.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include "kernels/base/error.h"
#include "kernels/base/printable.h"

namespace palimpsest::storage {
namespace {

std::string holder(int descriptor)
{
    char text[32] = {};
    const ssize_t count = pread(descriptor, text, sizeof text - 1, 0);
    return count > 0 ? std::string(text, strcspn(text, "\n")) : "unknown";
}

void sign(int descriptor)
{
    const std::string text = std::to_string(getpid()) + "\n";
    // The process id is only for messages; the lock itself does not depend on it.
    if (ftruncate(descriptor, 0) == 0) (void)!pwrite(descriptor, text.data(), text.size(), 0);
}

int open_lock_file(const std::filesystem::path& file)
{
    const int descriptor = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (descriptor >= 0) return descriptor;
    throw Error(ErrorKind::Failed, ErrorCode::InaccessibleDatabase, Text::escaped(file.string()),
                Text("it cannot be opened ({0})", std::strerror(errno)),
                Text("check the folder and its permissions, or {0}", Step::ChooseDatabase));
}

// Whether `file` still names the locked file. If the previous owner has removed it, others lock a new file of that
// name. Compares inodes, because some file systems do not count links.
bool has_name(int descriptor, const std::filesystem::path& file)
{
    struct stat locked {
    }, named{};
    return fstat(descriptor, &locked) == 0 && stat(file.c_str(), &named) == 0 && locked.st_dev == named.st_dev &&
           locked.st_ino == named.st_ino;
}

} // namespace

OwnerLock::OwnerLock(const std::filesystem::path& file, std::chrono::milliseconds busy_timeout)
    : descriptor_(open_lock_file(file))
{
    constexpr std::chrono::milliseconds between_tries{20};
    const auto wait = std::max(busy_timeout, between_tries); // owner_of holds the lock for a moment
    const auto end = std::chrono::steady_clock::now() + wait;
    for (;;) {
        const bool is_locked = flock(descriptor_, LOCK_EX | LOCK_NB) == 0;
        if (is_locked && has_name(descriptor_, file)) break;
        if (is_locked) {
            close(descriptor_);
            descriptor_ = open_lock_file(file);
        }
        if (std::chrono::steady_clock::now() < end) {
            std::this_thread::sleep_for(between_tries);
            continue;
        }
        const std::string process = holder(descriptor_);
        close(descriptor_);
        throw Error(ErrorKind::Busy, ErrorCode::BusyDatabase, Text("sessions"),
                    Text("they are open for writing in another Palimpsest (process {0})", printable(process)),
                    Text("close it, or {0}", Step::ChooseDatabase));
    }
    struct stat status {};
    left_behind_ = fstat(descriptor_, &status) == 0 && status.st_size > 0;
    sign(descriptor_);
}

void OwnerLock::mark_clean_shutdown()
{
    // If truncating fails, the next owner just checks unnecessarily.
    (void)!ftruncate(descriptor_, 0);
}

OwnerLock::~OwnerLock()
{
    close(descriptor_);
}

std::optional<std::string> owner_of(const std::filesystem::path& database)
{
    const std::string file = database.string() + ".lock";
    const int descriptor = open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (descriptor < 0) return std::nullopt;
    const bool is_owned = flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    const auto owner = is_owned ? std::optional(holder(descriptor)) : std::nullopt;
    close(descriptor);
    return owner;
}

} // namespace palimpsest::storage
