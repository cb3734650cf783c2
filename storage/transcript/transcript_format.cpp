#include "storage/transcript/transcript_format.h"

#include <algorithm>
#include <cctype>
#include <string>

namespace palimpsest::storage {

std::optional<TranscriptFormat> transcript_format(std::string_view name)
{
    if (name == "markdown") return TranscriptFormat::Markdown;
    if (name == "html") return TranscriptFormat::Html;
    if (name == "json") return TranscriptFormat::Json;
    return std::nullopt;
}

std::optional<TranscriptFormat> transcript_format_of(std::string_view file)
{
    std::string name(file);
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
    if (name.ends_with(".md") || name.ends_with(".markdown")) return TranscriptFormat::Markdown;
    if (name.ends_with(".html") || name.ends_with(".htm")) return TranscriptFormat::Html;
    if (name.ends_with(".json")) return TranscriptFormat::Json;
    return std::nullopt;
}

void write_transcript(const Transcript& transcript, TranscriptFormat format, const Wording& wording,
                      std::ostream& out)
{
    switch (format) {
    case TranscriptFormat::Markdown:
        return write_markdown_transcript(transcript, wording, out);
    case TranscriptFormat::Html:
        return write_html_transcript(transcript, wording, out);
    case TranscriptFormat::Json:
        return write_json_transcript(transcript, out);
    }
}

} // namespace palimpsest::storage
