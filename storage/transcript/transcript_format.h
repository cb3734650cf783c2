// The file formats of a transcript. Text of documents and models can do no harm in any of them: it adds no markup,
// no link and no script, and its characters that hide others or change the direction of text are escaped.
#pragma once

#include <optional>
#include <ostream>
#include <string_view>

#include "kernels/base/text.h"
#include "storage/transcript/transcript.h"

namespace palimpsest::storage {

enum class TranscriptFormat { Markdown, Html, Json };

// "markdown", "html", "json"; nullopt: another name.
std::optional<TranscriptFormat> transcript_format(std::string_view name);
// By the ending of a file's name: .md, .markdown, .html, .htm, .json, in any case; nullopt: another one.
std::optional<TranscriptFormat> transcript_format_of(std::string_view file);

// Words of the program are worded by `wording`, in JSON in English (docs/formats.md, Transcripts).
void write_transcript(const Transcript& transcript, TranscriptFormat format, const Wording& wording,
                      std::ostream& out);

void write_markdown_transcript(const Transcript& transcript, const Wording& wording, std::ostream& out);
// One page without references to anything outside of it.
void write_html_transcript(const Transcript& transcript, const Wording& wording, std::ostream& out);
void write_json_transcript(const Transcript& transcript, std::ostream& out);

} // namespace palimpsest::storage
