// Starts palimpsest-reader for one document, and passes on what it writes.
//
// The document cannot harm this process: the reader has no access to files, the network or other processes
// (app/reader/sandbox.h), its messages are checked, and it is ended when it is silent, slow or writes too much.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <sys/types.h>

#include "kernels/base/descriptor.h"
#include "kernels/base/error.h"
#include "kernels/base/text.h"
#include "storage/reader/frame.h"

namespace palimpsest::storage {

struct ReaderLimits {
    std::chrono::milliseconds silence{20'000};  // without a message, while one is waited for
    std::chrono::milliseconds all{15 * 60'000}; // waited for messages, all together
    uint64_t text_bytes = uint64_t{2} << 30;
};

// The program palimpsest-reader, in the folder libexec/palimpsest of the nearest folder above the running program
// that has it. Empty if none has it, or another user's.
std::filesystem::path reader_program();

class ReaderProcess {
public:
    // `file`: a descriptor of a regular file, open for reading; the reader reads all of it. `name`
    // is shown in errors; `ending`, such as ".html", decides between formats that begin alike. Throws Error if the
    // reader cannot be started.
    ReaderProcess(int file, const std::string& name, const std::string& ending, std::stop_token stop,
                  ReaderLimits limits = {}, const std::filesystem::path& program = reader_program());
    ~ReaderProcess(); // ends the reader
    ReaderProcess(const ReaderProcess&) = delete;
    ReaderProcess& operator=(const ReaderProcess&) = delete;

    // The next message, of any kind but ReaderHello, ReaderEnd and ReaderProblem; nullopt at the end. Throws Error
    // if the document cannot be read or the reader fails, Interrupted within 100 ms of a stop.
    std::optional<ReaderFrame> next();

    // Both are known once next() was called.
    const std::string& format() const { return format_; }
    bool has_structure() const { return format_ != "text"; } // the format tells headings from text

    pid_t process() const { return process_; } // of the reader; -1 after its end

private:
    void start(int file, const std::string& ending, const std::filesystem::path& program);
    ReaderFrame receive();
    void wait_for_bytes();
    bool fill();
    void check(const ReaderFrame& frame);
    void end();
    [[noreturn]] void refuse(const ReaderProblem& problem) const;
    [[noreturn]] void report_end();
    [[noreturn]] void fail(const Text& what) const;

    std::string name_;
    std::stop_token stop_;
    ReaderLimits limits_;
    pid_t process_ = -1;
    Descriptor pipe_; // what the reader writes
    FrameDecoder decoder_;
    std::vector<char> buffer_;
    std::string format_;
    std::chrono::steady_clock::duration waited_{};
    uint64_t text_bytes_ = 0, received_ = 0;
    int pages_ = 0;
    bool has_greeted_ = false, has_text_ = false, has_ended_ = false;
};

} // namespace palimpsest::storage
