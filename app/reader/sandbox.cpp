#include "app/reader/sandbox.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <linux/landlock.h>
#include <memory>
#include <sched.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernels/base/sanitized.h"

namespace palimpsest::reader {
namespace {

constexpr uint64_t mebibyte = uint64_t{1} << 20;

void limit(__rlimit_resource resource, uint64_t most)
{
    rlimit now{};
    if (getrlimit(resource, &now) != 0) return;
    if (now.rlim_max != RLIM_INFINITY && now.rlim_max < most) most = now.rlim_max;
    const rlimit lower{most, most};
    setrlimit(resource, &lower);
}

void limit_resources()
{
    constexpr uint64_t seconds = 600;
    limit(RLIMIT_CPU, seconds);
    limit(RLIMIT_FSIZE, 0);
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_NOFILE, 16);
    limit(RLIMIT_NPROC, 0);
    if (is_sanitized) return;
    limit(RLIMIT_DATA, 512 * mebibyte); // what the process writes to
    limit(RLIMIT_AS, 2048 * mebibyte);  // and its programs and mapped files
}

// The attributes of a Landlock ruleset in version 6 of the interface. The header of an older system has only the
// first.
struct LandlockRules {
    uint64_t files, network, scopes;
};

bool forbid_files()
{
    const auto version = syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
    if (version < 1) return false;
    // By version: 13 accesses to files, then moving, truncating, and commands to devices; binding and connecting;
    // sockets and signals of others.
    const int file_accesses = 13 + (version >= 2) + (version >= 3) + (version >= 5);
    const LandlockRules rules{.files = (uint64_t{1} << file_accesses) - 1,
                              .network = version >= 4 ? 3u : 0u,
                              .scopes = version >= 6 ? 3u : 0u};
    const size_t known = version >= 6 ? sizeof rules : version >= 4 ? 2 * sizeof(uint64_t) : sizeof(uint64_t);
    const auto ruleset = static_cast<int>(syscall(SYS_landlock_create_ruleset, &rules, known, 0));
    if (ruleset < 0) return false;
    const bool is_done = syscall(SYS_landlock_restrict_self, ruleset, 0) == 0;
    close(ruleset);
    return is_done;
}

// System calls that use memory, existing threads, the clock, and files that are open already. All others fail with
// EPERM, which a library that looks for a configuration file treats like a missing file.
constexpr int allowed_calls[] = {
    SCMP_SYS(read),
    SCMP_SYS(pread64),
    SCMP_SYS(readv),
    SCMP_SYS(write),
    SCMP_SYS(writev),
    SCMP_SYS(lseek),
    SCMP_SYS(fstat),
    SCMP_SYS(close),
    SCMP_SYS(poll),
    SCMP_SYS(ppoll),
    SCMP_SYS(brk),
    SCMP_SYS(munmap),
    SCMP_SYS(mremap),
    SCMP_SYS(madvise),
    SCMP_SYS(futex),
    SCMP_SYS(sched_yield),
    SCMP_SYS(sched_getaffinity),
    SCMP_SYS(clock_gettime),
    SCMP_SYS(clock_nanosleep),
    SCMP_SYS(nanosleep),
    SCMP_SYS(gettimeofday),
    SCMP_SYS(getrandom),
    SCMP_SYS(getpid),
    SCMP_SYS(gettid),
    SCMP_SYS(rt_sigaction),
    SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(rt_sigreturn),
    SCMP_SYS(sigaltstack),
    SCMP_SYS(restart_syscall),
    SCMP_SYS(sysinfo),
    SCMP_SYS(getrusage),
    SCMP_SYS(exit),
    SCMP_SYS(exit_group),
};

bool allow_few_system_calls()
{
    if (is_sanitized) return false;
    const std::unique_ptr<void, void (*)(scmp_filter_ctx)> filter(seccomp_init(SCMP_ACT_ERRNO(EPERM)),
                                                                  seccomp_release);
    if (!filter) return false;
    for (const int call : allowed_calls)
        if (seccomp_rule_add(filter.get(), SCMP_ACT_ALLOW, call, 0) != 0) return false;
    // Memory that can be executed is refused.
    const scmp_arg_cmp not_executable{.arg = 2, .op = SCMP_CMP_MASKED_EQ, .datum_a = PROT_EXEC, .datum_b = 0};
    for (const int call : {SCMP_SYS(mmap), SCMP_SYS(mprotect)})
        if (seccomp_rule_add_array(filter.get(), SCMP_ACT_ALLOW, call, 1, &not_executable) != 0) return false;
    // abort() signals the process itself; no other may be signalled.
    const scmp_arg_cmp itself{
        .arg = 0, .op = SCMP_CMP_EQ, .datum_a = static_cast<scmp_datum_t>(getpid()), .datum_b = 0};
    if (seccomp_rule_add_array(filter.get(), SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1, &itself) != 0) return false;
    return seccomp_load(filter.get()) == 0;
}

// Whether a system call that returned this was refused by the sandbox, rather than by its arguments.
bool is_refused(long result)
{
    return result < 0 && (errno == EPERM || errno == EACCES);
}

} // namespace

Sandbox enter_sandbox()
{
    Sandbox sandbox;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_DUMPABLE, is_sanitized ? 1 : 0);
    limit_resources();
    sandbox.has_no_new_privileges = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
    sandbox.forbids_files = forbid_files();
    sandbox.allows_few_system_calls = allow_few_system_calls();
    return sandbox;
}

std::vector<SandboxTrial> try_sandbox()
{
    std::vector<SandboxTrial> trials;
    const auto try_call = [&](const char* what, auto call) { trials.push_back({what, is_refused(call())}); };
    const std::string own = "/tmp/palimpsest-reader-" + std::to_string(getpid());
    try_call("open a file", [] { return open("/etc/passwd", O_RDONLY | O_CLOEXEC); });
    try_call("open a folder", [] { return open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
    try_call("write a file", [&] { return open(own.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600); });
    try_call("remove a file", [&] { return unlink(own.c_str()); });
    try_call("make a folder", [&] { return mkdir(own.c_str(), 0700); });
    try_call("connect to the internet", [] { return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0); });
    try_call("connect to a local program", [] { return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0); });
    try_call("run a program", [] {
        char name[] = "/bin/true";
        char* arguments[] = {name, nullptr};
        return execve(name, arguments, nullptr);
    });
    try_call("start a process", [] {
        const pid_t child = fork();
        if (child == 0) _exit(0);
        return child;
    });
    try_call("signal another process", [] { return kill(getppid(), 0); });
    try_call("let the kernel signal another process", [] { return fcntl(STDOUT_FILENO, F_SETOWN, getppid()); });
    try_call("watch another process", [] { return ptrace(PTRACE_SEIZE, getppid(), nullptr, nullptr); });
    try_call("make memory executable", [] {
        void* memory = mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        return memory == MAP_FAILED ? -1L : 0L;
    });
    return trials;
}

} // namespace palimpsest::reader
