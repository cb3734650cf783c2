#include "storage/reader/reader_process.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include "kernels/base/printable.h"
#include "kernels/base/program_folder.h"
#include "kernels/base/sanitized.h"
#include "storage/interrupted.h"

namespace palimpsest::storage {
namespace {

using Clock = std::chrono::steady_clock;
constexpr size_t read_bytes_at_once = 64 * 1024;
constexpr std::chrono::milliseconds longest_wait{50}; // before the next look whether a stop was requested

// A copy of a descriptor with a number that no standard stream has, and that other programs do not inherit.
Descriptor copy_of(int descriptor)
{
    constexpr int above_standard_streams = 10;
    return Descriptor(fcntl(descriptor, F_DUPFD_CLOEXEC, above_standard_streams));
}

// How the reader is started: the document is its standard input, and it inherits nothing else.
class SpawnPlan {
public:
    SpawnPlan(int document, int messages)
    {
        posix_spawn_file_actions_init(&actions_);
        posix_spawn_file_actions_adddup2(&actions_, document, STDIN_FILENO);
        posix_spawn_file_actions_adddup2(&actions_, messages, STDOUT_FILENO);
        // Its errors could hold anything, and a terminal would obey it.
        if (!is_sanitized) posix_spawn_file_actions_addopen(&actions_, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
        posix_spawn_file_actions_addclosefrom_np(&actions_, STDERR_FILENO + 1);
        posix_spawnattr_init(&attributes_);
        sigset_t none, all;
        sigemptyset(&none);
        sigfillset(&all);
        posix_spawnattr_setsigmask(&attributes_, &none);
        posix_spawnattr_setsigdefault(&attributes_, &all);
        // In a group of its own, so that Ctrl-C reaches this process alone, which then ends the reader.
        posix_spawnattr_setflags(&attributes_,
                                 POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    }
    ~SpawnPlan()
    {
        posix_spawn_file_actions_destroy(&actions_);
        posix_spawnattr_destroy(&attributes_);
    }
    SpawnPlan(const SpawnPlan&) = delete;
    SpawnPlan& operator=(const SpawnPlan&) = delete;

    // Returns the process, or -1 with errno.
    pid_t start(const std::filesystem::path& program, std::vector<std::string> arguments) const
    {
        std::vector<char*> argv;
        argv.reserve(arguments.size() + 1);
        for (std::string& argument : arguments)
            argv.push_back(argument.data());
        argv.push_back(nullptr);
        std::string locale = "LC_ALL=C.UTF-8";
        char* environment[] = {locale.data(), nullptr};
        pid_t process = -1;
        errno = posix_spawn(&process, program.c_str(), &actions_, &attributes_, argv.data(), environment);
        return errno == 0 ? process : -1;
    }

private:
    posix_spawn_file_actions_t actions_{};
    posix_spawnattr_t attributes_{};
};

ErrorCode code_of(DocumentProblem problem)
{
    switch (problem) {
    case DocumentProblem::Damaged:
        return ErrorCode::MalformedDocument;
    case DocumentProblem::TooLarge:
        return ErrorCode::DocumentTooLarge;
    case DocumentProblem::Protected:
        return ErrorCode::ProtectedDocument;
    case DocumentProblem::Unsupported:
        return ErrorCode::UnsupportedDocument;
    case DocumentProblem::Unreadable:
        break;
    }
    return ErrorCode::UnreadableDocument;
}

// Waits at most five seconds for a process that has closed its output: one that ends does so when its memory is
// freed.
bool ends_soon(pid_t process, int& status)
{
    constexpr int attempts = 5000;
    for (int i = 0; process > 0 && i < attempts; ++i) {
        const pid_t ended = waitpid(process, &status, WNOHANG);
        if (ended != 0) return ended == process;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
}

} // namespace

std::filesystem::path reader_program()
{
    std::filesystem::path program = installed_file("libexec/palimpsest/palimpsest-reader");
    struct stat file {};
    const bool is_trusted =
        !program.empty() && stat(program.c_str(), &file) == 0 && (file.st_uid == 0 || file.st_uid == geteuid());
    return is_trusted ? program : std::filesystem::path(); // a folder further up may be another user's
}

ReaderProcess::ReaderProcess(int file, const std::string& name, const std::string& ending, std::stop_token stop,
                             ReaderLimits limits, const std::filesystem::path& program)
    : name_(name), stop_(std::move(stop)), limits_(limits), buffer_(read_bytes_at_once)
{
    start(file, ending, program);
}

ReaderProcess::~ReaderProcess()
{
    end();
}

void ReaderProcess::start(int file, const std::string& ending, const std::filesystem::path& program)
{
    const Text reinstall("install Palimpsest again");
    if (program.empty())
        throw Error(ErrorKind::Failed, ErrorCode::ReaderFailed, Text::escaped(name_),
                    Text("the program palimpsest-reader, which opens such files, is missing"), reinstall);
    int ends[2] = {-1, -1};
    const bool has_pipe = pipe2(ends, O_CLOEXEC) == 0;
    const Descriptor from(ends[0]), to(ends[1]);
    const Descriptor document = copy_of(file), messages = copy_of(to.get());
    pipe_ = copy_of(from.get());
    if (!has_pipe || !document.is_open() || !messages.is_open() || !pipe_.is_open())
        throw Error(ErrorKind::Resources, ErrorCode::ReaderFailed, Text::escaped(name_),
                    Text("too many files are open"), Text("close other documents or programs"));
    process_ = SpawnPlan(document.get(), messages.get()).start(program, {program.string(), ending});
    if (process_ < 0)
        throw Error(ErrorKind::Failed, ErrorCode::ReaderFailed, Text::escaped(name_),
                    Text("the program {0} cannot be started", printable(program.string())), reinstall);
}

// Ends the reader, and waits until it is gone.
void ReaderProcess::end()
{
    pipe_.reset();
    if (process_ < 0) return;
    kill(process_, SIGKILL);
    while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
    }
    process_ = -1;
}

std::optional<ReaderFrame> ReaderProcess::next()
{
    while (!has_ended_) {
        ReaderFrame frame = receive();
        if (std::holds_alternative<ReaderHello>(frame)) continue;
        if (const auto* problem = std::get_if<ReaderProblem>(&frame)) refuse(*problem);
        if (!std::holds_alternative<ReaderEnd>(frame)) return frame;
        has_ended_ = true;
        end();
    }
    return std::nullopt;
}

ReaderFrame ReaderProcess::receive()
{
    try {
        while (true) {
            if (auto frame = decoder_.next()) {
                check(*frame);
                return *std::move(frame);
            }
            if (!fill()) report_end();
        }
    } catch (const FrameError&) {
        fail(Text("the program palimpsest-reader wrote something that is no message"));
    }
}

// Reads what there is; false if the reader has closed its end.
bool ReaderProcess::fill()
{
    wait_for_bytes();
    ssize_t bytes = 0;
    do
        bytes = read(pipe_.get(), buffer_.data(), buffer_.size());
    while (bytes < 0 && errno == EINTR);
    if (bytes <= 0) return false;
    decoder_.push({buffer_.data(), static_cast<size_t>(bytes)});
    received_ += static_cast<uint64_t>(bytes);
    return true;
}

void ReaderProcess::wait_for_bytes()
{
    const auto begin = Clock::now();
    while (true) {
        if (stop_.stop_requested()) {
            end();
            throw Interrupted{Text("stopped while reading {0}; nothing was saved", printable(name_))};
        }
        pollfd readable{pipe_.get(), POLLIN, 0};
        const int ready = poll(&readable, 1, static_cast<int>(longest_wait.count()));
        const auto waited = Clock::now() - begin;
        if (ready > 0) {
            waited_ += waited;
            return;
        }
        if (waited > limits_.silence)
            fail(Text("opening it made no progress for {0} seconds",
                      std::chrono::duration_cast<std::chrono::seconds>(limits_.silence).count()));
        if (waited_ + waited > limits_.all)
            fail(Text("opening it takes more than {0} minutes",
                      std::chrono::duration_cast<std::chrono::minutes>(limits_.all).count()));
    }
}

// The order of messages, and the length of the text.
void ReaderProcess::check(const ReaderFrame& frame)
{
    const bool greets = std::holds_alternative<ReaderHello>(frame);
    constexpr uint64_t most_beside_text = 64 << 20;
    if (received_ > most_beside_text + 2 * text_bytes_) throw FrameError("more messages than a document has");
    if (greets == has_greeted_) throw FrameError("a message before the greeting, or a second greeting");
    if (greets) {
        const auto& hello = std::get<ReaderHello>(frame);
        if (hello.version != reader_protocol_version)
            throw Error(ErrorKind::Failed, ErrorCode::ReaderFailed, Text::escaped(name_),
                        Text("the program palimpsest-reader belongs to another version of Palimpsest"),
                        Text("install Palimpsest again"));
        format_ = hello.format;
        has_greeted_ = true;
    } else if (const auto* text = std::get_if<ReaderText>(&frame)) {
        has_text_ = true;
        text_bytes_ += text->text.size();
        if (text_bytes_ > limits_.text_bytes)
            throw Error(ErrorKind::Failed, ErrorCode::DocumentTooLarge, Text::escaped(name_),
                        Text("it holds more than {0} bytes of text", limits_.text_bytes),
                        Text("divide it into several files"));
    } else if (std::holds_alternative<ReaderPage>(frame)) {
        if (++pages_ > most_reader_pages)
            throw Error(ErrorKind::Failed, ErrorCode::DocumentTooLarge, Text::escaped(name_),
                        Text("it has more than {0} pages, the limit", most_reader_pages),
                        Text("divide it into several files"));
    } else if (std::holds_alternative<ReaderFact>(frame)) {
        if (has_text_) throw FrameError("metadata after the text");
    } else if (const auto* end = std::get_if<ReaderEnd>(&frame)) {
        if (end->text_bytes != text_bytes_) throw FrameError("another length of the text");
    }
}

void ReaderProcess::refuse(const ReaderProblem& problem) const
{
    throw Error(ErrorKind::Failed, code_of(problem.problem), Text::escaped(name_), problem.what, problem.remedy);
}

// The reader has closed its pipe before the end of the document: says how it ended.
void ReaderProcess::report_end()
{
    int status = 0;
    if (!ends_soon(process_, status)) fail(Text("the program palimpsest-reader stopped writing"));
    process_ = -1;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)
        fail(Text("opening it takes more computing time than is allowed"));
    if (WIFSIGNALED(status))
        fail(Text("the program palimpsest-reader stopped at it (signal {0})", WTERMSIG(status)));
    fail(Text("the program palimpsest-reader stopped at it (exit {0})", WEXITSTATUS(status)));
}

void ReaderProcess::fail(const Text& what) const
{
    throw Error(ErrorKind::Failed, ErrorCode::ReaderFailed, Text::escaped(name_), what,
                Text("convert it to plain text or Markdown"));
}

} // namespace palimpsest::storage
