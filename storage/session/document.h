// A text or Markdown file, standard input, or a text in memory, as bytes in order. Other formats are refused by
// name.
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

// Of files that are text or Markdown, with the dot: what a dialog offers.
std::vector<std::string> document_endings();

class Document {
public:
    // `name` "-" reads `in`. Throws Error: NotFound, or Failed for a folder or a format that is not text.
    // Once `stop` is requested, next throws Interrupted.
    Document(const std::string& name, std::istream& in, std::stop_token stop = {});
    // What `in` has, which is no file's: plain text of this title.
    static Document of_text(const std::string& title, std::istream& in, std::stop_token stop = {});
    Document(const Document&) = delete;
    Document& operator=(const Document&) = delete;

    // The same file from its beginning. REQUIRES: total_bytes().
    Document again() const { return Document(name_, *source_, stop_); }

    const std::string& name() const { return name_; }
    bool is_stream() const { return source_ != &file_; }           // no file: there once, and known by no place
    std::string title() const;                                     // a file's name without folder and ending
    std::optional<uint64_t> total_bytes() const { return total_; } // of a regular file
    bool is_markdown() const;                                      // by the name's ending
    uint64_t words() const { return words_; }                      // read so far, by white space
    int64_t source_bytes() const { return static_cast<int64_t>(read_); } // read so far
    int64_t source_hash() const { return hash_.value(); }                // XXH3-64 of them

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

// All of them, before any is read: a name that is wrong is noticed at once.
using Documents = std::vector<std::unique_ptr<Document>>;
Documents open_documents(const std::vector<std::string>& names, std::istream& in, std::stop_token stop);

// Whitespace-separated token ids of a file. Throws Error (Failed) naming the first word that is not an id.
std::vector<int32_t> read_token_ids(const std::string& name, std::istream& in, std::stop_token stop);

} // namespace palimpsest::storage
