#include "engine/text/unicode/visible_text.h"
#include "storage/transcript/transcript_format.h"
#include "storage/transcript/transcript_words.h"

namespace palimpsest::storage {
namespace {

constexpr const char* style = R"css(
:root { color-scheme: light dark; }
body { max-width: 46rem; margin: 2rem auto; padding: 0 1.25rem; background: #fdfcf9; color: #22211e;
       font: 1rem/1.55 Georgia, "Noto Serif", "DejaVu Serif", serif; overflow-wrap: anywhere; }
h1 { font-size: 1.7rem; line-height: 1.2; }
h2 { font-size: 1rem; margin: 0 0 .4rem; }
h2, dt, .note, .sources, cite, .replaced .text { color: #66635b; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem; margin: 0; }
dd { margin: 0; }
dl, ul, cite, time, .note { font-size: .9rem; }
article, section { margin: 1.6rem 0; }
.question .text { padding: .7rem 1rem; border-radius: .4rem; background: #f3f0e7; }
time { font-weight: normal; margin-inline-start: .5rem; }
.text { white-space: pre-wrap; }
blockquote { margin: .8rem 0; padding-inline-start: .9rem; border-inline-start: 3px solid #b07d3a; }
blockquote p { margin: 0; white-space: pre-wrap; font-style: italic; }
cite { font-style: normal; }
@media screen and (prefers-color-scheme: dark) {
  body { background: #1b1a18; color: #e8e5dc; }
  h2, dt, .note, .sources, cite, .replaced .text { color: #a5a095; }
  .question .text { background: #26241f; }
}
@media print {
  body { max-width: none; margin: 0; background: #fff; color: #000; font-size: 10.5pt; }
  .question .text { border: 1px solid #bbb; background: none; }
  h2 { break-after: avoid; }
  blockquote { break-inside: avoid; }
}
)css";

std::string html_text(const std::string& readable)
{
    std::string out;
    for (const char c : readable) {
        switch (c) {
        case '&':
            out += "&amp;";
            break;
        case '<':
            out += "&lt;";
            break;
        case '>':
            out += "&gt;";
            break;
        case '"':
            out += "&quot;";
            break;
        case '\'':
            out += "&#39;";
            break;
        default:
            out += c;
        }
    }
    return out;
}

class HtmlPage {
public:
    HtmlPage(const Wording& wording, std::ostream& out) : wording_(wording), out_(out) {}

    void write(const Transcript& transcript)
    {
        const std::string name = html_text(engine::visible_line(transcript.name));
        out_ << "<!DOCTYPE html>\n<html lang=\"" << word(Text("en")) << "\">\n<head>\n<meta charset=\"utf-8\">\n"
             << "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
                "'unsafe-inline'\">\n"
             << "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>" << name
             << "</title>\n<style>" << style << "</style>\n</head>\n<body>\n<header>\n<h1 dir=\"auto\">" << name
             << "</h1>\n<dl>\n";
        for (const auto& [about, value] : session_words(transcript))
            out_ << "<dt>" << word(about) << "</dt><dd dir=\"auto\">" << word(value) << "</dd>\n";
        out_ << "</dl>\n</header>\n";
        write_documents(transcript.documents);
        out_ << "<main>\n";
        for (const TranscriptMessage& message : transcript.messages)
            write_message(message);
        out_ << "</main>\n</body>\n</html>\n";
    }

private:
    std::string word(const Text& text) const { return html_text(text.in(wording_)); }

    void write_documents(const std::vector<TranscriptDocument>& documents)
    {
        if (documents.empty()) return;
        out_ << "<section>\n<h2>" << word(Text("Documents")) << "</h2>\n<ul>\n";
        for (const TranscriptDocument& document : documents)
            out_ << "<li dir=\"auto\">" << word(document_words(document)) << "</li>\n";
        out_ << "</ul>\n</section>\n";
    }

    void write_message(const TranscriptMessage& message)
    {
        out_ << "<article class=\"" << (message.role == Role::User ? "question" : "answer")
             << (message.is_replaced ? " replaced" : "") << "\">\n<h2>" << word(role_words(message.role))
             << " <time datetime=\"" << iso_time(message.created_ms) << "\">" << utc_minute(message.created_ms)
             << "</time></h2>\n";
        if (const auto state = state_words(message)) write_note(*state);
        out_ << "<div class=\"text\" dir=\"auto\">" << html_text(engine::visible(message.text)) << "</div>\n";
        if (message.quote) write_quote(*message.quote);
        if (!message.sources.empty()) write_sources(message.sources);
        if (const auto reading = reading_words(message)) write_note(*reading);
        out_ << "</article>\n";
    }

    void write_note(const Text& note) { out_ << "<p class=\"note\">" << word(note) << "</p>\n"; }

    void write_quote(const TranscriptQuote& quote)
    {
        out_ << "<blockquote>\n<p dir=\"auto\">" << html_text(engine::visible(quote.text))
             << "</p>\n<cite dir=\"auto\">" << word(place_words(quote.place)) << "</cite>\n</blockquote>\n";
        if (const auto missing = unsupported_words(quote)) write_note(*missing);
    }

    void write_sources(const std::vector<TranscriptSource>& sources)
    {
        out_ << "<ul class=\"sources\">\n";
        for (const TranscriptSource& source : sources)
            out_ << "<li dir=\"auto\">" << word(source_words(source)) << "</li>\n";
        out_ << "</ul>\n";
    }

    const Wording& wording_;
    std::ostream& out_;
};

} // namespace

void write_html_transcript(const Transcript& transcript, const Wording& wording, std::ostream& out)
{
    HtmlPage(wording, out).write(transcript);
}

} // namespace palimpsest::storage
