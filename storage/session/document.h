// Reads a text or Markdown file, standard input, or text in memory as a sequence of bytes. Rejects other formats
// with an error that names them.
#pragma once

#include <cstdint>
#include <fstream>
#include <istream>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "storage/hash.h"

namespace palimpsest::storage {

// Readable extensions with the dot, for a file dialog.
std::vector<std::string> document_endings();

class Document {
public:
    // `name` "-" reads `in`. Throws Error: NotFound, or Failed for a folder or an unsupported format. Once `stop`
    // is requested, next throws Interrupted.
    Document(const std::string& name, std::istream& in, std::stop_token stop = {});
    // Reads `in` as plain text with this title; there is no file.
    static Document of_text(const std::string& title, std::istream& in, std::stop_token stop = {});
    Document(const Document&) = delete;
    Document& operator=(const Document&) = delete;

    // Returns a reader of the same file that begins at its start. REQUIRES: total_bytes() has a value.
    Document again() const { return Document(name_, *source_, stop_); }

    const std::string& name() const { return name_; }
    bool is_stream() const { return source_ != &file_; } // standard input or text in memory: can be read only once
    std::string title() const;                           // file name without folder and extension
    std::optional<uint64_t> total_bytes() const { return total_; }       // of a regular file
    bool is_markdown() const;                                            // by file extension
    uint64_t words() const { return words_; }                            // so far, split at white space
    int64_t source_bytes() const { return static_cast<int64_t>(read_); } // read so far
    int64_t source_hash() const { return hash_.value(); }                // XXH3-64 of these bytes

    // Replaces `block` with the next bytes; false at the end. Throws Error (Failed) if the file cannot be read.
    bool next(std::string& block);

private:
    Document(std::istream& in, const std::string& title, std::stop_token stop)
        : name_(title), source_(&in), stop_(std::move(stop))
    {
    }
    void wait_for_input() const;
    void refuse_other_formats(const std::string& head) const;
    void count_words(const std::string& block);

    std::string name_;
    std::ifstream file_;
    std::istream* source_;
    std::stop_token stop_;
    std::optional<uint64_t> total_;
    uint64_t read_ = 0, words_ = 0;
    bool inside_word_ = false;
    Hasher64 hash_;
};

// Opens all documents before any is read, so that a wrong name is reported at once.
using Documents = std::vector<std::unique_ptr<Document>>;
Documents open_documents(const std::vector<std::string>& names, std::istream& in, const std::stop_token& stop);

// Whitespace-separated token ids of a file. Throws Error (Failed) that names the first word that is not a token id.
std::vector<int32_t> read_token_ids(const std::string& name, std::istream& in, std::stop_token stop);

} // namespace palimpsest::storage
