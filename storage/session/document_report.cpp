#include "storage/session/document_report.h"

namespace palimpsest::storage {

using nlohmann::ordered_json;

DocumentReport DocumentReport::of(Library& library, const DocumentInfo& document, uint64_t first_token)
{
    return {.title = document.title,
            .format = document.format,
            .author = document.author,
            .language = document.language,
            .first_token = first_token,
            .tokens = document.tokens,
            .sections = library.sections(document.id),
            .pages = library.pages(document.id)};
}

ordered_json DocumentReport::json() const
{
    const auto or_null = [](const std::string& text) { return text.empty() ? ordered_json() : ordered_json(text); };
    ordered_json sections_json = ordered_json::array(), pages_json = ordered_json::array();
    for (const Section& section : sections)
        sections_json.push_back({{"title", section.title},
                                 {"level", section.level},
                                 {"first_token", section.first_token},
                                 {"first_byte", section.first_byte}});
    for (const Page& page : pages)
        pages_json.push_back(
            {{"label", page.label}, {"first_token", page.first_token}, {"first_byte", page.first_byte}});
    return {{"title", title},
            {"format", or_null(format)},
            {"author", or_null(author)},
            {"language", or_null(language)},
            {"first_token", first_token},
            {"tokens", tokens},
            {"sections", sections_json},
            {"pages", pages_json}};
}

} // namespace palimpsest::storage
