// A text or Markdown file, or standard input, as bytes in order. Other formats are refused by name.
#pragma once

#include <cstdint>
#include <fstream>
#include <istream>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace palimpsest::app {

class Document {
public:
    // `name` "-" reads `in`. Throws Error: NotFound, or Failed for a folder or a format that is not text.
    // Once `stop` is requested, next throws Interrupted.
    Document(const std::string& name, std::istream& in, std::stop_token stop = {});

    const std::string& name() const { return name_; }
    std::string title() const;                                     // the file's name without folder and ending
    std::optional<uint64_t> total_bytes() const { return total_; } // unknown for standard input
    uint64_t bytes_read() const { return read_; }

    // Replaces `block` with the next bytes; false at the end. Throws Error (Failed) if the file cannot be read.
    bool next(std::string& block);

private:
    void wait_for_input() const;
    void refuse_other_formats(const std::string& head) const;

    std::string name_;
    std::ifstream file_;
    std::istream* source_;
    std::stop_token stop_;
    std::optional<uint64_t> total_;
    uint64_t read_ = 0;
};

// Whitespace-separated token ids of a file. Throws Error (Failed) naming the first word that is not an id.
std::vector<int32_t> read_token_ids(const std::string& name, std::istream& in, std::stop_token stop);

} // namespace palimpsest::app
