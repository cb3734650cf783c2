#include "app/reader/text_writer.h"

#include <algorithm>
#include <utility>

#include "engine/text/unicode/utf8.h"

namespace palimpsest::reader {
namespace {

constexpr std::string_view between_blocks = "\n\n", between_lines = "\n";

bool is_white(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

// Control characters, soft hyphens, which are not printed, and the byte-order mark, which means nothing inside a
// text.
bool is_left_out(char32_t code)
{
    return code < ' ' || (code >= 0x7F && code < 0xA0) || code == 0xAD || code == 0xFEFF;
}

// The longest beginning of at most `most` bytes that ends between two characters.
std::string_view beginning(std::string_view text, size_t most)
{
    if (text.size() <= most) return text;
    while (most > 0 && engine::is_utf8_continuation(text[most]))
        --most;
    return text.substr(0, most);
}

std::string title_text(std::string_view text)
{
    const std::string line = on_one_line(clean_text(text));
    return std::string(beginning(line, storage::longest_reader_title));
}

} // namespace

std::string clean_text(std::string_view text)
{
    std::string out;
    out.reserve(text.size());
    engine::Utf8Decoder decoder;
    bool after_return = false;
    const auto add = [&](char32_t code, size_t, bool) {
        const bool is_return = code == '\r';
        if (is_return || (code == '\n' && !std::exchange(after_return, false)))
            out += '\n';
        else if (code == '\t' || !is_left_out(code))
            engine::append_utf8(code, out);
        after_return = is_return;
    };
    for (const char byte : text)
        decoder.push(static_cast<unsigned char>(byte), add);
    decoder.finish(add);
    return out;
}

std::string on_one_line(std::string_view text)
{
    std::string out;
    out.reserve(text.size());
    for (const char c : text) {
        if (!is_white(c))
            out += c;
        else if (!out.empty() && out.back() != ' ')
            out += ' ';
    }
    if (out.ends_with(' ')) out.pop_back();
    return out;
}

std::string with_indent(std::string_view text, std::string_view first, std::string_view rest)
{
    std::string out(first);
    for (const char c : text) {
        out += c;
        if (c == '\n') out += rest;
    }
    return out;
}

void TextWriter::begin(const std::string& format)
{
    if (!std::exchange(has_begun_, true)) sink_(storage::ReaderHello{.format = format});
}

void TextWriter::fact(storage::DocumentFact fact, std::string_view value)
{
    if (std::string text = title_text(value); !text.empty()) sink_(storage::ReaderFact{fact, std::move(text)});
}

void TextWriter::heading(int level, std::string_view title)
{
    const std::string text = on_one_line(title);
    if (clean_text(text).empty()) return;
    section(level, text);
    block(text);
}

void TextWriter::section(int level, std::string_view title)
{
    separate(between_blocks);
    flush();
    sink_(storage::ReaderHeading{std::clamp(level, 1, storage::deepest_heading), title_text(title)});
}

void TextWriter::page(std::string_view label)
{
    waiting_pages_.push_back(title_text(label));
    after_line_ = false;
}

void TextWriter::write_waiting_pages()
{
    for (const std::string& label : std::exchange(waiting_pages_, {}))
        mark_page(label);
}

void TextWriter::mark_page(std::string_view label)
{
    std::string text = title_text(label);
    if (text.empty()) return; // a place in a book that the book does not name
    flush();
    sink_(storage::ReaderPage{std::move(text)});
}

void TextWriter::block(std::string_view text, const std::vector<PageMark>& pages)
{
    separate(between_blocks);
    size_t done = 0;
    for (const PageMark& mark : pages) {
        size_t begin = std::clamp(mark.offset, done, text.size());
        while (begin < text.size() && engine::is_utf8_continuation(text[begin]))
            ++begin;
        append(clean_text(text.substr(done, begin - done)));
        done = begin;
        mark_page(mark.label);
    }
    append(clean_text(text.substr(done)));
}

void TextWriter::line(std::string_view text)
{
    const std::string clean = clean_text(text);
    if (clean.empty()) return;
    separate(after_line_ ? between_lines : between_blocks);
    append(clean);
    after_line_ = true;
}

void TextWriter::raw(std::string_view text)
{
    write_waiting_pages();
    append(text);
}

void TextWriter::separate(std::string_view separator)
{
    if (!is_separated_) append(separator);
    is_separated_ = true;
    after_line_ = false;
    write_waiting_pages();
}

void TextWriter::append(std::string_view text)
{
    is_separated_ = is_separated_ && text.empty();
    while (!text.empty()) {
        const std::string_view part = beginning(text, storage::longest_reader_text - pending_.size());
        pending_ += part;
        text.remove_prefix(part.size());
        if (!text.empty()) flush();
    }
}

void TextWriter::flush()
{
    if (pending_.empty()) return;
    bytes_ += pending_.size();
    sink_(storage::ReaderText{std::exchange(pending_, {})});
}

void TextWriter::note(Text text)
{
    flush();
    sink_(storage::ReaderNote{std::move(text)});
}

void TextWriter::progress(uint64_t done, uint64_t all)
{
    flush();
    sink_(storage::ReaderProgress{std::min(done, all), all});
}

void TextWriter::finish()
{
    write_waiting_pages();
    flush();
    sink_(storage::ReaderEnd{bytes_});
}

void TextWriter::refuse(const Problem& problem)
{
    begin({});
    sink_(storage::ReaderProblem{problem.problem, problem.what, problem.remedy});
}

} // namespace palimpsest::reader
