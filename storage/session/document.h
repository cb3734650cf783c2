// Reads a document as a sequence of bytes: a file, standard input, or text in memory. UTF-8 and UTF-16 text is read
// here as it is. Every other file is opened by palimpsest-reader, a process of its own, which writes its text.
#pragma once

#include <cstdint>
#include <fstream>
#include <istream>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "engine/text/section_finder.h"
#include "kernels/base/descriptor.h"
#include "kernels/base/text.h"
#include "storage/hash.h"
#include "storage/interrupted.h"
#include "storage/reader/reader_process.h"

namespace palimpsest::storage {

// Readable extensions with the dot, for a file dialog.
std::vector<std::string> document_endings();

struct DocumentHeading {
    int level = 1;
    std::string title;
    uint64_t first_byte = 0; // of the section, in the text
};

struct DocumentPage {
    std::string label;       // as printed
    uint64_t first_byte = 0; // in the text
};

// Metadata in the file; a member is empty if the file does not have it.
struct DocumentMetadata {
    std::string format; // as a user calls it: "EPUB"; empty: text
    std::string title, author, language;
};

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
    // The title that the document says it has, else title(). Reads the first block of a file, which next() returns
    // afterwards. Throws as next().
    std::string own_title();
    std::optional<uint64_t> total_bytes() const { return total_; } // of a regular file
    // Of the text, if it is a file of text; how long the text of other formats is, is known at its end.
    std::optional<uint64_t> text_bytes() const;
    uint64_t words() const { return words_; } // so far, split at white space
    // Of the file: so far, or all of it once another format than text was recognised.
    int64_t source_bytes() const { return static_cast<int64_t>(read_); }
    int64_t source_hash() const { return hash_.value(); } // XXH3-64 of these bytes

    // Whether the file still has this length and hash. Reads all of it. REQUIRES: total_bytes() has a value.
    bool has_source(int64_t bytes, int64_t hash) const;

    // Replaces `block` with the next bytes of the text; false at the end. Throws Error (Failed) if the file cannot
    // be read, Interrupted.
    bool next(std::string& block);

    // All are known for what next() has returned so far, `metadata` once it has returned something.
    engine::Markup markup() const;
    const DocumentMetadata& metadata() const { return metadata_; }
    std::vector<DocumentHeading> take_headings() { return std::exchange(headings_, {}); } // for Markup::Given
    std::vector<DocumentPage> take_pages() { return std::exchange(pages_, {}); }
    const std::vector<std::string>& pages_without_text() const { return empty_pages_; } // labels
    // On what could not be read as it should be.
    const std::vector<Text>& notes() const { return notes_; }

private:
    Document(std::istream& in, const std::string& title, std::stop_token stop)
        : name_(title), source_(&in), stop_(std::move(stop))
    {
    }
    bool read_block(std::string& block);
    bool next_of_file(std::string& block);
    bool next_of_reader(std::string& block);
    void take(ReaderFact& fact);
    void begin_page(std::optional<DocumentPage> page);
    size_t read_source(std::span<char> block) const;
    size_t read_pipe(std::span<char> block);
    void wait_for(int descriptor) const;
    [[noreturn]] void fail_reading() const;
    bool is_for_reader(const std::string& head) const;
    void begin_reader();
    Interrupted stopped() const;
    void refuse_other_formats(const std::string& head) const;
    void count_words(const std::string& block);

    std::string name_;
    std::ifstream file_; // a regular file
    Descriptor pipe_;    // a named pipe, terminal or device, read without blocking, so that a stop ends the waiting
    bool pipe_has_ended_ = false;
    std::istream* source_;
    std::stop_token stop_;
    std::optional<uint64_t> total_;
    std::optional<std::string> ahead_; // the first block, if own_title() has read it and next() has not returned it
    uint64_t read_ = 0, words_ = 0;
    bool inside_word_ = false;
    Hasher64 hash_;
    std::unique_ptr<ReaderProcess> reader_; // of a file that is not text
    uint64_t text_read_ = 0;                // bytes that reader_ has written
    DocumentMetadata metadata_;
    std::vector<DocumentHeading> headings_;
    std::vector<DocumentPage> pages_;
    std::optional<DocumentPage> page_; // the last
    std::vector<std::string> empty_pages_;
    std::vector<Text> notes_;
};

// As Document::title of the file of this name.
std::string title_of_file(const std::string& name);

// Opens all documents before any is read, so that a wrong name is reported at once.
using Documents = std::vector<std::unique_ptr<Document>>;
Documents open_documents(const std::vector<std::string>& names, std::istream& in, const std::stop_token& stop);

// Whitespace-separated token ids of a file. Throws Error (Failed) that names the first word that is not a token id.
std::vector<int32_t> read_token_ids(const std::string& name, std::istream& in, std::stop_token stop);

} // namespace palimpsest::storage
