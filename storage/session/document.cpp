#include "storage/session/document.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <fcntl.h>
#include <filesystem>
#include <iostream>
#include <poll.h>
#include <span>
#include <unistd.h>

#include "engine/text/unicode/utf8.h"
#include "kernels/base/error.h"
#include "kernels/base/printable.h"
#include "storage/session/listener.h"

namespace palimpsest::storage {
namespace {

namespace fs = std::filesystem;
constexpr size_t read_bytes_at_once = 64 * 1024;
constexpr std::string_view zip_magic = "PK\x03\x04", pdf_magic = "%PDF-";

// Files with other extensions are read as plain text.
enum class Reading { Text, Markdown, Parsed, Refused };
struct Format {
    std::string_view name, ending, magic;
    Reading reading = Reading::Refused;
};
constexpr Format formats[] = {{"text", ".txt", "", Reading::Text},
                              {"Markdown", ".md", "", Reading::Markdown},
                              {"Markdown", ".markdown", "", Reading::Markdown},
                              {"Markdown", ".mkd", "", Reading::Markdown},
                              {"PDF", ".pdf", "", Reading::Parsed},
                              {"EPUB", ".epub", "", Reading::Parsed},
                              {"Word", ".docx", "", Reading::Parsed},
                              {"zip", ".zip", ""},
                              {"HTML", ".html", "", Reading::Parsed},
                              {"HTML", ".htm", "", Reading::Parsed},
                              {"HTML", ".xhtml", "", Reading::Parsed},
                              {"GGUF model", ".gguf", "GGUF"},
                              {"SQLite", ".db", "SQLite format 3"},
                              {"OpenDocument", ".odt", "", Reading::Parsed},
                              {"RTF", ".rtf", "{\\rtf"},
                              {"PNG", ".png", "\x89PNG"},
                              {"JPEG", ".jpg", "\xFF\xD8\xFF"},
                              {"gzip", ".gz", "\x1F\x8B"}};

std::string lower_ending(const std::string& name)
{
    std::string ending = fs::path(name).extension().string();
    std::transform(ending.begin(), ending.end(), ending.begin(), [](unsigned char c) { return std::tolower(c); });
    return ending;
}

Reading reading_of(const std::string& ending)
{
    const Format* const at = std::ranges::find(formats, ending, &Format::ending);
    return at == std::end(formats) ? Reading::Text : at->reading;
}

Text subject_of(const std::string& name)
{
    return Text::escaped(name);
}

[[noreturn]] void refuse_format(const std::string& name, std::string_view format)
{
    throw Error(ErrorKind::Failed, ErrorCode::UnsupportedDocument, subject_of(name),
                Text("{0} files cannot be read in this version", format),
                Text("convert it to plain text or Markdown"));
}

bool is_ascii(std::string_view text)
{
    return std::ranges::none_of(text, [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
}

// Whether it is UTF-8, perhaps damaged, rather than text of a charset with one byte for a character.
bool looks_like_utf8(std::string_view text)
{
    engine::Utf8Decoder decoder;
    size_t long_characters = 0, invalid = 0;
    for (const char byte : text)
        decoder.push(static_cast<unsigned char>(byte), [&](char32_t, size_t bytes, bool valid) {
            long_characters += valid && bytes > 1;
            invalid += !valid;
        });
    return invalid <= long_characters;
}

// Programs put the name of the file they were given, or a word for none, where a title belongs.
bool is_a_title(const std::string& text)
{
    const auto is_word_for_none = [&](std::string_view word) {
        return std::ranges::equal(text, word, {}, [](unsigned char c) { return std::tolower(c); });
    };
    if (std::ranges::any_of(std::array{"untitled", "unknown", "title", "document", "powerpoint presentation"},
                            is_word_for_none))
        return false;
    if (text.starts_with("Microsoft ") && text.find(" - ") != text.npos) return false;
    constexpr std::array endings{".doc",  ".docx", ".odt", ".rtf",  ".pdf", ".tex",  ".dvi",
                                 ".indd", ".qxd",  ".htm", ".html", ".ppt", ".pptx", ".xls",
                                 ".xlsx", ".txt",  ".md",  ".epub", ".ps",  ".wpd"};
    return std::ranges::find(endings, lower_ending(text)) == endings.end();
}

} // namespace

std::vector<std::string> document_endings()
{
    std::vector<std::string> endings;
    for (const Format& format : formats)
        if (format.reading != Reading::Refused) endings.emplace_back(format.ending);
    return endings;
}

std::string title_of_file(const std::string& name)
{
    return fs::path(name).stem().string();
}

Document::Document(const std::string& name, std::istream& in, std::stop_token stop)
    : name_(name), source_(&in), stop_(std::move(stop))
{
    if (name == "-") return;
    std::error_code failed;
    const fs::file_status status = fs::status(name, failed);
    if (!fs::exists(status))
        throw Error(ErrorKind::NotFound, ErrorCode::DocumentNotFound, subject_of(name),
                    Text("there is no such file"), Text("check the name"));
    if (fs::is_directory(status))
        throw Error(ErrorKind::Failed, ErrorCode::UnreadableDocument, subject_of(name), Text("it is a folder"),
                    Text("give the files in it"));
    const std::string ending = lower_ending(name);
    for (const Format& format : formats)
        if (ending == format.ending && format.reading == Reading::Refused) refuse_format(name, format.name);
    source_ = &file_;
    if (fs::is_regular_file(status)) {
        file_.open(name, std::ios::binary);
        total_ = fs::file_size(name, failed);
    } else {
        pipe_ = Descriptor(open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
    }
    if (!pipe_.is_open() && !file_.is_open())
        throw Error(ErrorKind::Failed, ErrorCode::UnreadableDocument, subject_of(name), Text("it cannot be opened"),
                    Text("check its permissions"));
}

Document Document::of_text(const std::string& title, std::istream& in, std::stop_token stop)
{
    return Document(in, title, std::move(stop));
}

std::string Document::title() const
{
    if (!is_stream()) return title_of_file(name_);
    return name_ == "-" ? "standard input" : name_;
}

std::string Document::own_title()
{
    if (!is_stream() && read_ == 0) read_block(ahead_.emplace());
    return metadata_.title.empty() ? title() : metadata_.title;
}

std::optional<uint64_t> Document::text_bytes() const
{
    return reader_ || reading_of(lower_ending(name_)) == Reading::Parsed ? std::nullopt : total_;
}

engine::Markup Document::markup() const
{
    if (reader_ && reader_->has_structure()) return engine::Markup::Given;
    const bool is_markdown = !is_stream() && reading_of(lower_ending(name_)) == Reading::Markdown;
    return is_markdown ? engine::Markup::Markdown : engine::Markup::Plain;
}

bool Document::has_source(int64_t bytes, int64_t hash) const
{
    if (static_cast<int64_t>(*total_) != bytes) return false;
    Document again(name_, *source_, stop_);
    for (std::string block; again.next_of_file(block);) {
    }
    return again.source_bytes() == bytes && again.source_hash() == hash;
}

bool Document::next(std::string& block)
{
    if (!ahead_) return read_block(block);
    block = *std::exchange(ahead_, std::nullopt);
    return !block.empty();
}

bool Document::read_block(std::string& block)
{
    const bool begins = read_ == 0;
    if (!reader_) {
        next_of_file(block);
        if (begins) {
            refuse_other_formats(block);
            if (is_for_reader(block)) begin_reader();
        }
    }
    if (reader_) next_of_reader(block);
    count_words(block);
    return !block.empty();
}

Interrupted Document::stopped() const
{
    return {Text("stopped while reading {0}; nothing was saved", printable(name_))};
}

// Replaces `block` with the next bytes of the file; false at its end.
bool Document::next_of_file(std::string& block)
{
    if (source_ == &std::cin && std::cin.rdbuf()->in_avail() <= 0) wait_for(STDIN_FILENO);
    if (stop_.stop_requested()) throw stopped();
    block.resize(read_bytes_at_once);
    block.resize(pipe_.is_open() ? read_pipe(block) : read_source(block));
    read_ += block.size();
    hash_.push(std::as_bytes(std::span(block)));
    return !block.empty();
}

size_t Document::read_source(std::span<char> block) const
{
    source_->read(block.data(), static_cast<std::streamsize>(block.size()));
    if (source_->bad()) fail_reading();
    return static_cast<size_t>(source_->gcount());
}

// Returns less than the size of the block only at the end of the pipe.
size_t Document::read_pipe(std::span<char> block)
{
    size_t filled = 0;
    while (filled < block.size() && !pipe_has_ended_) {
        wait_for(pipe_.get());
        if (stop_.stop_requested()) throw stopped();
        const ssize_t bytes = ::read(pipe_.get(), block.data() + filled, block.size() - filled);
        pipe_has_ended_ = bytes == 0; // another writer may open it later
        if (bytes >= 0)
            filled += static_cast<size_t>(bytes);
        else if (errno != EINTR && errno != EAGAIN)
            fail_reading();
    }
    return filled;
}

void Document::fail_reading() const
{
    throw Error(ErrorKind::Failed, ErrorCode::UnreadableDocument, subject_of(name_),
                Text("reading failed after {0} bytes", read_), Text("check the disk and try again"));
}

// Whether the file is something else than text in UTF-8 or UTF-16. Text is judged by the first part that is not
// ASCII.
bool Document::is_for_reader(const std::string& head) const
{
    if (is_stream()) return false;
    if (reading_of(lower_ending(name_)) == Reading::Parsed || head.starts_with(zip_magic) ||
        head.starts_with(pdf_magic))
        return true;
    const bool has_mark =
        head.starts_with("\xEF\xBB\xBF") || head.starts_with("\xFF\xFE") || head.starts_with("\xFE\xFF");
    if (has_mark || !is_ascii(head)) return !has_mark && !looks_like_utf8(head);
    if (!total_) return false; // a pipe
    std::ifstream file(name_, std::ios::binary);
    file.seekg(static_cast<std::streamoff>(head.size()));
    std::string part(read_bytes_at_once, '\0');
    while (file.read(part.data(), static_cast<std::streamsize>(part.size())), file.gcount() > 0) {
        const std::string_view read(part.data(), static_cast<size_t>(file.gcount()));
        if (!is_ascii(read)) return !looks_like_utf8(read);
        if (stop_.stop_requested()) throw stopped();
    }
    return false;
}

// Starts the reader on the file, after its hash was computed.
void Document::begin_reader()
{
    const auto refuse = [&](const Text& what, const Text& remedy) {
        throw Error(ErrorKind::Failed, ErrorCode::UnreadableDocument, subject_of(name_), what, remedy);
    };
    if (!total_) refuse(Text("it is a pipe, and only text can be read from one"), Text("give a file"));
    const Descriptor file(open(name_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!file.is_open()) refuse(Text("it cannot be opened"), Text("check its permissions"));
    hash_ = {};
    read_ = 0;
    std::vector<std::byte> part(read_bytes_at_once);
    while (true) {
        if (stop_.stop_requested()) throw stopped();
        const ssize_t bytes = pread(file.get(), part.data(), part.size(), static_cast<off_t>(read_));
        if (bytes < 0 && errno == EINTR) continue;
        if (bytes < 0) fail_reading();
        if (bytes == 0) break;
        read_ += static_cast<uint64_t>(bytes);
        hash_.push(std::span(part).first(static_cast<size_t>(bytes)));
    }
    reader_ = std::make_unique<ReaderProcess>(file.get(), name_, lower_ending(name_), stop_);
}

bool Document::next_of_reader(std::string& block)
{
    block.clear();
    while (auto frame = reader_->next()) {
        if (metadata_.format.empty() && reader_->has_structure()) metadata_.format = reader_->format();
        if (auto* text = std::get_if<ReaderText>(&*frame)) {
            block = std::move(text->text);
            text_read_ += block.size();
            return true;
        }
        if (auto* heading = std::get_if<ReaderHeading>(&*frame))
            headings_.push_back({heading->level, std::move(heading->title), text_read_});
        else if (auto* page = std::get_if<ReaderPage>(&*frame))
            begin_page(DocumentPage{std::move(page->label), text_read_});
        else if (auto* fact = std::get_if<ReaderFact>(&*frame))
            take(*fact);
        else if (auto* note = std::get_if<ReaderNote>(&*frame))
            notes_.push_back(std::move(note->text));
    }
    begin_page({});
    return false;
}

// Ends the page before; nullopt at the end of the document.
void Document::begin_page(std::optional<DocumentPage> page)
{
    if (page_ && page_->first_byte == text_read_) empty_pages_.push_back(page_->label);
    page_ = std::move(page);
    if (page_) pages_.push_back(*page_);
}

void Document::take(ReaderFact& fact)
{
    switch (fact.fact) {
    case DocumentFact::Title:
        if (is_a_title(fact.value)) metadata_.title = std::move(fact.value);
        return;
    case DocumentFact::Author:
        metadata_.author = std::move(fact.value);
        return;
    case DocumentFact::Language:
        metadata_.language = std::move(fact.value);
        return;
    }
}

void Document::count_words(const std::string& block)
{
    for (const char c : block) {
        const bool inside = std::isspace(static_cast<unsigned char>(c)) == 0;
        words_ += inside && !inside_word_;
        inside_word_ = inside;
    }
}

// Waits until it can be read, or a stop is requested. Signals do not interrupt a read here, because a separate
// thread handles them.
void Document::wait_for(int descriptor) const
{
    constexpr int milliseconds = 50;
    pollfd input{descriptor, POLLIN, 0};
    for (;;) {
        const int ready = poll(&input, 1, milliseconds);
        const bool is_interrupted = ready < 0 && errno == EINTR;
        if (stop_.stop_requested() || (ready != 0 && !is_interrupted)) return;
    }
}

void Document::refuse_other_formats(const std::string& head) const
{
    for (const Format& format : formats)
        if (!format.magic.empty() && head.starts_with(format.magic)) refuse_format(name_, format.name);
}

Documents open_documents(const std::vector<std::string>& names, std::istream& in, const std::stop_token& stop)
{
    if (std::count(names.begin(), names.end(), "-") > 1)
        throw Error(ErrorKind::Usage, ErrorCode::InvalidArguments, Text::verbatim("-"),
                    Text("standard input can be read only once"), Text("give it once, or files"));
    Documents documents;
    for (const std::string& name : names)
        documents.push_back(std::make_unique<Document>(name, in, stop));
    return documents;
}

std::vector<int32_t> read_token_ids(const std::string& name, std::istream& in, std::stop_token stop)
{
    Document document(name, in, std::move(stop));
    std::vector<int32_t> ids;
    std::string block, word;
    const auto take = [&] {
        if (word.empty()) return;
        int32_t id = 0;
        const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), id);
        if (error != std::errc() || end != word.data() + word.size() || id < 0)
            throw Error(ErrorKind::Failed, ErrorCode::UnknownToken, subject_of(name),
                        Text("'{0}' at place {1} is not a token id", printable(word), ids.size()),
                        Text("give whitespace-separated ids"));
        ids.push_back(id);
        word.clear();
    };
    while (document.next(block))
        for (const char c : block) {
            if (c == ' ' || c == '\n' || c == '\t' || c == '\r')
                take();
            else if (word.size() < 32)
                word += c;
        }
    take();
    return ids;
}

} // namespace palimpsest::storage
