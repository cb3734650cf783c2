// A file that a command writes: beside its place first, so that a failure leaves what was there.
#pragma once

#include <fstream>
#include <string>

namespace palimpsest::app {

class OutputFile {
public:
    // Throws Error (Failed, PAL-DISK-03) if nothing can be written there. A device or pipe is written to directly.
    explicit OutputFile(const std::string& name);
    ~OutputFile(); // without commit nothing stays behind
    OutputFile(const OutputFile&) = delete;
    OutputFile& operator=(const OutputFile&) = delete;

    std::ostream& stream() { return stream_; }
    // Puts the file in its place. Throws Error (Resources, PAL-DISK-01) if not all of it was written.
    void commit();

private:
    std::string name_;
    std::string place_;     // what `name` stands for: links resolved
    std::string temporary_; // empty if written to directly
    std::ofstream stream_;
};

} // namespace palimpsest::app
