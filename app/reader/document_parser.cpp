#include "app/reader/document_parser.h"

#include <algorithm>
#include <string>

#include "app/reader/charset.h"
#include "app/reader/docx.h"
#include "app/reader/epub.h"
#include "app/reader/html_text.h"
#include "app/reader/odt.h"
#include "app/reader/pdf.h"
#include "app/reader/zip_archive.h"

namespace palimpsest::reader {
namespace {

using storage::DocumentProblem;

bool is_html(std::string_view document, std::string_view ending)
{
    if (ending == ".html" || ending == ".htm" || ending == ".xhtml") return true;
    std::string head(document.substr(0, 512));
    std::ranges::transform(head, head.begin(),
                           [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
    const std::string_view beginning = std::string_view(head).substr(std::min(head.find('<'), head.size()));
    return beginning.starts_with("<!doctype html") || beginning.starts_with("<html");
}

void parse_zip(std::string_view document, TextWriter& writer)
{
    ZipArchive archive(document);
    if (is_odt(archive)) return parse_odt(archive, writer);
    if (is_epub(archive)) return parse_epub(archive, writer);
    if (is_docx(archive)) return parse_docx(archive, writer);
    throw Problem{DocumentProblem::Unsupported, Text("it is a zip archive, but no EPUB, Word or OpenDocument file"),
                  Text("unpack it, and give the files in it")};
}

void read_pdf([[maybe_unused]] std::string_view document, [[maybe_unused]] TextWriter& writer)
{
#ifdef PALIMPSEST_WITH_PDF
    parse_pdf(document, writer);
#else
    throw Problem{DocumentProblem::Unsupported,
                  Text("this program was built without Qt Pdf, which reads PDF files"),
                  Text("convert it to plain text or Markdown")};
#endif
}

// Text in another charset than UTF-8.
void parse_text(std::string_view document, TextWriter& writer)
{
    writer.begin("text");
    const DecodedText decoded = decoded_text(document);
    if (decoded.charset != "UTF-8")
        writer.note(Text("the text was taken for {0} and converted", Text::escaped(decoded.charset)));
    writer.raw(clean_text(decoded.text));
}

} // namespace

void parse_document(std::string_view document, std::string_view ending, TextWriter& writer)
{
    constexpr std::string_view compound_file = "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1";
    constexpr std::string_view encrypted("E\0n\0c\0r\0y\0p\0t\0e\0d\0P\0a\0c\0k\0a\0g\0e", 31); // UTF-16
    if (document.starts_with(compound_file) && document.find(encrypted) != document.npos)
        throw Problem{DocumentProblem::Protected, Text("it is protected with a password"),
                      Text("save a copy without the password, and give that")};
    if (document.starts_with(compound_file))
        throw Problem{DocumentProblem::Unsupported, Text("it is a Word file of an old version"),
                      Text("open it in a word processor and save it as DOCX or ODT")};
    if (ZipArchive::is_zip(document)) return parse_zip(document, writer);
    if (document.starts_with("%PDF-") || ending == ".pdf") return read_pdf(document, writer);
    if (is_html(document, ending)) return parse_html(document, writer);
    parse_text(document, writer);
}

} // namespace palimpsest::reader
