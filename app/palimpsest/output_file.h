// An output file of a command: written to a part beside it, so that a failure keeps the previous contents. Without
// commit(), the part is removed.
#pragma once

#include <fstream>
#include <optional>
#include <string>

#include "storage/part_file.h"

namespace palimpsest::app {

class OutputFile {
public:
    // Throws Error (Failed, PAL-DISK-03) if the file cannot be written. Devices and pipes are written directly.
    explicit OutputFile(const std::string& name);

    std::ostream& stream() { return stream_; }
    // Gives the part the name. Throws Error (Resources, PAL-DISK-01) if some data was not written.
    void commit();

private:
    std::string name_;
    std::optional<storage::PartFile> part_; // nullopt: written directly
    std::ofstream stream_;
};

} // namespace palimpsest::app
