#include "storage/session/encoded_import.h"

#include "storage/reader/note_messages.h"

namespace palimpsest::storage {

EncodedImport::EncodedImport(Database& database, Document& document, const std::string& source,
                             const std::string& tokenizer)
    : document_(document), import_(database, document.title(), source, tokenizer), structure_(document)
{
}

void EncodedImport::push(std::string_view clean, std::span<const engine::EncodedToken> tokens)
{
    import_.add_text(clean);
    import_.add_tokens(tokens);
    structure_.push(clean, tokens);
    add_structure();
}

void EncodedImport::add_structure()
{
    for (const Section& section : structure_.take_sections())
        import_.add_section(section);
    for (const Page& page : structure_.take_pages())
        import_.add_page(page);
}

std::optional<int64_t> EncodedImport::finish(const Coverage& coverage, const std::function<bool()>& go_on)
{
    structure_.finish();
    add_structure();
    import_.set_reader_notes(encoded_notes(document_.notes()));
    const DocumentMetadata& metadata = document_.metadata();
    return import_.finish({.title = metadata.title,
                           .words = document_.words(),
                           .invalid_sequences = coverage.invalid_sequences,
                           .nul_characters = coverage.nul_characters,
                           .source_bytes = document_.source_bytes(),
                           .source_hash = document_.source_hash(),
                           .format = metadata.format,
                           .author = metadata.author,
                           .language = metadata.language},
                          go_on);
}

} // namespace palimpsest::storage
