#include "storage/session/document_storer.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <vector>

#include "engine/text/document_encoder.h"
#include "kernels/base/error.h"
#include "kernels/base/printable.h"
#include "storage/session/encoded_import.h"
#include "storage/session/reading.h"
#include "storage/session/stored_notes.h"

namespace palimpsest::storage {
namespace {

namespace fs = std::filesystem;

// To be raised when a file would be read into another text, sections or pages than before.
constexpr int64_t parser_version = 2;

std::string lower_extension(const std::string& name)
{
    std::string extension = fs::path(name).extension().string();
    std::ranges::transform(extension, extension.begin(), [](unsigned char c) { return std::tolower(c); });
    return extension;
}

[[noreturn]] void throw_stopped(const std::string& title)
{
    throw Interrupted{Text("stopped while storing {0}; run it again to start over", title)};
}

} // namespace

std::string source_of(const Document& document)
{
    if (document.is_stream()) return "-";
    return fs::absolute(document.name()).lexically_normal().string();
}

StoredDocument DocumentStorer::store(Document& document)
{
    if (auto same = same_file(document)) {
        const std::string source = source_of(document);
        const auto known = store_.library.sources(same->id);
        if (std::ranges::find(known, source) == known.end())
            listener_.note(Text("{0} has the same content as {1}, which is stored already",
                                printable(document.name()), printable(same->source)));
        store_.library.add_source(same->id, source);
        tell_reader_notes(document.name(), *same);
        return {.info = *std::move(same), .is_new = false};
    }
    const int64_t id = import(document);
    DocumentInfo info = store_.library.get(id);
    if (info.tokens == 0) {
        store_.library.remove(id);
        throw Error(ErrorKind::Failed, ErrorCode::EmptyDocument, Text::escaped(document.name()),
                    Text("it has no text"), Text("give a document with text"));
    }
    if (!document.is_stream()) store_.library.set_making(id, making());
    return {.info = std::move(info)};
}

// The extension decides how headings are found.
std::optional<DocumentInfo> DocumentStorer::same_file(const Document& document)
{
    if (!document.total_bytes() || document.is_stream()) return std::nullopt;
    for (DocumentInfo& stored :
         store_.library.made_so(model_.fingerprint(), static_cast<int64_t>(*document.total_bytes()), making()))
        if (lower_extension(stored.source) == lower_extension(document.name()) &&
            document.has_source(stored.source_bytes, stored.source_hash) && is_intact(stored))
            return std::move(stored);
    return std::nullopt;
}

bool DocumentStorer::is_intact(const DocumentInfo& stored)
try {
    store_.library.verify(stored.id);
    return true;
} catch (const Error& error) {
    if (error.code() != ErrorCode::DamagedDocument) throw;
    listener_.note(Text("what is stored of {0} is damaged; it is stored anew", printable(stored.title)));
    return false;
}

void DocumentStorer::tell_reader_notes(const std::string& name, const DocumentInfo& stored)
{
    for (const Text& note : notes_of_reader(store_.library, stored))
        listener_.note(Text("{0}: {1}", printable(name), note));
}

Library::Making DocumentStorer::making() const
{
    const engine::Tokenizer& tokenizer = require_tokenizer(model_);
    const bool matters = tokenizer.encode("a", true) != tokenizer.encode("a", false);
    return {.first_text = matters && first_text_, .parser = parser_version};
}

int64_t DocumentStorer::import(Document& document)
{
    EncodedImport import(store_.database, document, source_of(document), model_.fingerprint());
    Coverage coverage;
    encode_document(
        document, require_tokenizer(model_), first_text_, coverage,
        [&](std::string_view clean, std::span<const engine::EncodedToken> tokens) { import.push(clean, tokens); });
    report_notes(document, listener_);
    const auto id = import.finish(coverage, [this] { return may_go_on(); });
    if (!id) throw_stopped(document.title());
    return *id;
}

// A document that was not made here is taken as it is.
StoredDocument DocumentStorer::store_copy(const DocumentInfo& stored)
{
    tell_reader_notes(stored.title, stored);
    const auto made = store_.library.making(stored.id);
    const Library::Making wanted{.first_text = making().first_text, .parser = made ? made->parser : 0};
    if (stored.tokenizer == model_.fingerprint() && (!made || made->first_text == wanted.first_text))
        return {.info = stored, .is_new = false};
    if (made)
        for (DocumentInfo& copy : store_.library.made_so(model_.fingerprint(), stored.source_bytes, wanted))
            if (copy.source_hash == stored.source_hash && copy.bytes == stored.bytes && is_intact(copy))
                return {.info = std::move(copy), .is_new = false};
    const int64_t id = import_text_of(stored);
    if (made) store_.library.set_making(id, wanted);
    return {.info = store_.library.get(id)};
}

int64_t DocumentStorer::import_text_of(const DocumentInfo& stored)
{
    Library& library = store_.library;
    Import import(store_.database, stored.title, stored.source, model_.fingerprint());
    StructureFinder structure(library.sections(stored.id), library.pages(stored.id));
    engine::DocumentEncoder encoder(require_tokenizer(model_), first_text_);
    std::vector<engine::EncodedToken> tokens;
    uint64_t bytes = 0;
    for (int64_t i = 0;; ++i) {
        const std::string text = library.text_block(stored.id, i);
        if (text.empty()) break;
        bytes += text.size();
        if (!may_go_on()) throw_stopped(stored.title);
        tokens.clear();
        encoder.push(text, tokens);
        import.add_text(text);
        import.add_tokens(tokens);
        structure.push(text, tokens);
    }
    if (bytes != stored.bytes) refuse_damaged_document(stored.id);
    tokens.clear();
    encoder.finish(tokens);
    import.add_tokens(tokens);
    structure.push({}, tokens);
    structure.finish();
    for (const Section& section : structure.take_sections())
        import.add_section(section);
    for (const Page& page : structure.take_pages())
        import.add_page(page);
    import.set_reader_notes(library.reader_notes(stored.id));
    const auto id = import.finish(stored, [this] { return may_go_on(); });
    if (!id) throw_stopped(stored.title);
    return *id;
}

} // namespace palimpsest::storage
