#include "engine/text/unicode/visible_text.h"
#include "storage/transcript/transcript_format.h"
#include "storage/transcript/transcript_words.h"

namespace palimpsest::storage {
namespace {

// Without raw HTML, links, images and references; emphasis, lists and code stay as they were written. A backslash
// before the characters that begin those shows in code.
std::string markdown_text(const std::string& readable)
{
    std::string out;
    for (const char c : readable) {
        if (std::string_view("\\<[]&").find(c) != std::string_view::npos) out += '\\';
        out += c;
    }
    return out;
}

// A text on one line that has no markup at all.
std::string markdown_line(const std::string& line)
{
    std::string out;
    for (const char c : line) {
        if (std::string_view("\\`*_[]<>#|&~").find(c) != std::string_view::npos) out += '\\';
        out += c;
    }
    return out;
}

// A block quote: headings and code blocks that do not end stay within it.
void write_quoted(const std::string& text, std::ostream& out)
{
    out << "> ";
    for (const char c : markdown_text(engine::visible(text))) {
        out << c;
        if (c == '\n') out << "> ";
    }
    out << "\n\n";
}

} // namespace

void write_markdown_transcript(const Transcript& transcript, const Wording& wording, std::ostream& out)
{
    const auto line = [&](const Text& text) { return markdown_line(text.in(wording)); };
    out << "# " << markdown_line(engine::visible_line(transcript.name)) << "\n\n";
    for (const auto& [name, value] : session_words(transcript))
        out << "- **" << line(name) << "**: " << line(value) << '\n';
    out << '\n';
    if (!transcript.documents.empty()) out << "## " << line(Text("Documents")) << "\n\n";
    for (const TranscriptDocument& document : transcript.documents)
        out << "- " << line(document_words(document)) << '\n';
    if (!transcript.documents.empty()) out << '\n';
    for (const TranscriptMessage& message : transcript.messages) {
        out << "## " << line(role_words(message.role)) << ", " << markdown_line(utc_minute(message.created_ms))
            << "\n\n";
        if (const auto state = state_words(message)) out << '*' << line(*state) << "*\n\n";
        write_quoted(message.text, out);
        if (message.quote) {
            out << line(Text("The document says:")) << "\n\n";
            write_quoted(message.quote->text, out);
            out << "— " << line(place_words(message.quote->place)) << "\n\n";
            if (const auto missing = unsupported_words(*message.quote)) out << line(*missing) << "\n\n";
        }
        for (const TranscriptSource& source : message.sources)
            out << "- " << line(source_words(source)) << '\n';
        if (!message.sources.empty()) out << '\n';
        if (const auto reading = reading_words(message)) out << line(*reading) << "\n\n";
    }
}

} // namespace palimpsest::storage
