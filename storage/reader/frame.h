// The messages of palimpsest-reader, the process that parses a document, to the process that started it. The
// protocol is described in docs/formats.md.
//
// The reader may have been taken over by a hostile document, so every byte that it writes is checked here.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>

#include "kernels/base/text.h"

namespace palimpsest::storage {

constexpr uint32_t reader_protocol_version = 1;
constexpr size_t longest_reader_text = 64 * 1024;    // bytes of one ReaderText
constexpr size_t longest_reader_title = 1024;        // bytes of a heading, page label or value of the metadata
constexpr size_t longest_reader_payload = 72 * 1024; // bytes of any message, without its header
constexpr int deepest_heading = 9;
constexpr int most_reader_pages = 50'000;

struct ReaderHello { // always first
    uint32_t version = reader_protocol_version;
    std::string format; // as a user calls it: "EPUB", "HTML"

    bool operator==(const ReaderHello&) const = default;
};

enum class DocumentFact : uint8_t { Title, Author, Language };

struct ReaderFact { // before all text
    DocumentFact fact = DocumentFact::Title;
    std::string value;

    bool operator==(const ReaderFact&) const = default;
};

struct ReaderText { // the next bytes of the text: valid UTF-8, whole characters
    std::string text;

    bool operator==(const ReaderText&) const = default;
};

struct ReaderHeading { // a section begins with the next text, which usually repeats the title
    int level = 1;     // 1 to deepest_heading
    std::string title;

    bool operator==(const ReaderHeading&) const = default;
};

struct ReaderPage {    // a page begins with the next text
    std::string label; // as printed: "xii", "217"

    bool operator==(const ReaderPage&) const = default;
};

struct ReaderNote { // something was left out or could not be read as it should be
    Text text;

    bool operator==(const ReaderNote&) const = default;
};

struct ReaderProgress { // how much of the document is read, in a unit of the format
    uint64_t done = 0, all = 0;

    bool operator==(const ReaderProgress&) const = default;
};

struct ReaderEnd { // always last, unless there is a problem
    uint64_t text_bytes = 0;

    bool operator==(const ReaderEnd&) const = default;
};

enum class DocumentProblem : uint8_t { Damaged, TooLarge, Protected, Unsupported, Unreadable };

struct ReaderProblem { // the document cannot be read; nothing follows
    DocumentProblem problem = DocumentProblem::Damaged;
    Text what, remedy;

    bool operator==(const ReaderProblem&) const = default;
};

using ReaderFrame = std::variant<ReaderHello, ReaderFact, ReaderText, ReaderHeading, ReaderPage, ReaderNote,
                                 ReaderProgress, ReaderEnd, ReaderProblem>;

// The bytes of a message. REQUIRES: its strings are within the limits above.
std::string encoded(const ReaderFrame& frame);

// The bytes are not what a reader writes.
class FrameError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// Takes bytes as they arrive. Holds at most one message and what was pushed last.
class FrameDecoder {
public:
    void push(std::string_view bytes) { pending_.append(bytes); }
    // The next message, once it is complete. Throws FrameError.
    std::optional<ReaderFrame> next();
    bool is_between_messages() const { return begin_ == pending_.size(); }

private:
    std::string pending_;
    size_t begin_ = 0; // of what was not decoded yet, in pending_
};

} // namespace palimpsest::storage
