#include "storage/session/encoded_import.h"

#include <utility>

namespace palimpsest::storage {

EncodedImport::EncodedImport(Database& database, Document& document, const std::string& source,
                             const std::string& tokenizer)
    : document_(document), import_(database, document.title(), source, tokenizer)
{
}

engine::SectionFinder& EncodedImport::finder()
{
    if (!finder_) finder_.emplace(document_.markup());
    return *finder_;
}

void EncodedImport::push(std::string_view clean, std::span<const engine::EncodedToken> tokens)
{
    import_.add_text(clean);
    import_.add_tokens(tokens);
    for (const DocumentHeading& heading : document_.take_headings())
        finder().add(heading.title, heading.first_byte);
    finder().push(clean);
    finder().push(tokens);
    add_sections();
}

void EncodedImport::add_sections()
{
    for (engine::Heading& heading : finder().take())
        import_.add_section({.title = std::move(heading.title),
                             .first_token = heading.first_token,
                             .first_byte = heading.first_byte});
}

std::optional<int64_t> EncodedImport::finish(const Coverage& coverage, const std::function<bool()>& go_on)
{
    finder().finish();
    add_sections();
    return import_.finish({.words = document_.words(),
                           .invalid_sequences = coverage.invalid_sequences,
                           .nul_characters = coverage.nul_characters,
                           .source_bytes = document_.source_bytes(),
                           .source_hash = document_.source_hash()},
                          go_on);
}

} // namespace palimpsest::storage
