#include "storage/session/document_storer.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "engine/text/document_encoder.h"
#include "kernels/base/error.h"
#include "kernels/base/printable.h"
#include "storage/session/encoded_import.h"
#include "storage/session/reading.h"

namespace palimpsest::storage {
namespace {

namespace fs = std::filesystem;

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
        return {.info = *std::move(same), .is_new = false};
    }
    const int64_t id = import(document);
    DocumentInfo info = store_.library.get(id);
    if (info.tokens > 0) return {.info = std::move(info)};
    store_.library.remove(id);
    throw Error(ErrorKind::Failed, ErrorCode::EmptyDocument, Text::escaped(document.name()), Text("it has no text"),
                Text("give a document with text"));
}

// The extension decides how headings are found.
std::optional<DocumentInfo> DocumentStorer::same_file(const Document& document)
{
    if (!document.total_bytes() || document.is_stream()) return std::nullopt;
    const auto stored =
        store_.library.with_source_bytes(model_.fingerprint(), static_cast<int64_t>(*document.total_bytes()));
    const auto same = std::ranges::find_if(stored, [&](const DocumentInfo& info) {
        return fs::path(info.source).extension() == fs::path(document.name()).extension() &&
               document.has_source(info.source_bytes, info.source_hash) && has_same_beginning(info);
    });
    return same == stored.end() ? std::nullopt : std::optional(*same);
}

// Whether the first ids are those that the text has where it is, or is not, the first of its stream.
bool DocumentStorer::has_same_beginning(const DocumentInfo& stored)
{
    constexpr size_t bytes = 1024, ids = 8;
    const std::string text = store_.library.text(stored.id, 0, bytes);
    std::vector<engine::EncodedToken> tokens;
    engine::DocumentEncoder encoder(require_tokenizer(model_), first_text_);
    encoder.push(text, tokens);
    if (tokens.empty() && stored.bytes <= bytes) encoder.finish(tokens);
    tokens.resize(std::min(tokens.size(), ids));
    return std::ranges::equal(tokens, store_.library.ids(stored.id, 0, tokens.size()), {},
                              &engine::EncodedToken::id);
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

StoredDocument DocumentStorer::store_copy(const DocumentInfo& stored)
{
    if (stored.tokenizer == model_.fingerprint()) return {.info = stored, .is_new = false};
    for (DocumentInfo& copy : store_.library.with_source_bytes(model_.fingerprint(), stored.source_bytes))
        if (stored.source_bytes >= 0 && copy.source_hash == stored.source_hash && copy.bytes == stored.bytes &&
            has_same_beginning(copy))
            return {.info = std::move(copy), .is_new = false};
    return {.info = store_.library.get(import_text_of(stored))};
}

int64_t DocumentStorer::import_text_of(const DocumentInfo& stored)
{
    Library& library = store_.library;
    Import import(store_.database, stored.title, stored.source, model_.fingerprint());
    StructureFinder structure(library.sections(stored.id), library.pages(stored.id));
    engine::DocumentEncoder encoder(require_tokenizer(model_), first_text_);
    std::vector<engine::EncodedToken> tokens;
    for (int64_t i = 0;; ++i) {
        const std::string text = library.text_block(stored.id, i);
        if (text.empty()) break;
        if (!may_go_on()) throw_stopped(stored.title);
        tokens.clear();
        encoder.push(text, tokens);
        import.add_text(text);
        import.add_tokens(tokens);
        structure.push(text, tokens);
    }
    tokens.clear();
    encoder.finish(tokens);
    import.add_tokens(tokens);
    structure.push({}, tokens);
    structure.finish();
    for (const Section& section : structure.take_sections())
        import.add_section(section);
    for (const Page& page : structure.take_pages())
        import.add_page(page);
    const auto id = import.finish(stored, [this] { return may_go_on(); });
    if (!id) throw_stopped(stored.title);
    return *id;
}

} // namespace palimpsest::storage
