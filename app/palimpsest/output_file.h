// An output file of a command: written to a temporary file beside it, so that a failure keeps the previous
// contents.
#pragma once

#include <fstream>
#include <string>

namespace palimpsest::app {

class OutputFile {
public:
    // Throws Error (Failed, PAL-DISK-03) if the file cannot be written. Devices and pipes are written directly.
    explicit OutputFile(const std::string& name);
    ~OutputFile(); // without commit(), deletes the temporary file
    OutputFile(const OutputFile&) = delete;
    OutputFile& operator=(const OutputFile&) = delete;

    std::ostream& stream() { return stream_; }
    // Renames the temporary file. Throws Error (Resources, PAL-DISK-01) if some data was not written.
    void commit();

private:
    std::string name_;
    std::string place_;     // `name` with symbolic links resolved
    std::string temporary_; // empty: written directly
    std::ofstream stream_;
};

} // namespace palimpsest::app
