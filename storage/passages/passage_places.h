// Where passages stand: the titles of their documents and sections, and their pages.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "kernels/base/text.h"
#include "storage/library.h"
#include "storage/passage_index.h"

namespace palimpsest::storage {

// Remembers what it has read from the database.
class PassagePlaces {
public:
    explicit PassagePlaces(Library& library) : library_(library) {}

    const std::string& title(int64_t document);
    // Null before the first section.
    const Section* section(const StoredPassage& passage);
    // For the model: the title of the section, else that of the document; both if `with_title`.
    std::string name(const StoredPassage& passage, bool with_title);
    // The page that its first token is on; null before the first page, and in a document without pages.
    const Page* page(const StoredPassage& passage);
    // For the user: "TITLE, SECTION, page 12, tokens 1,200 to 1,399"; without `with_title`, the title only if there
    // is no section.
    Text sentence(const StoredPassage& passage, bool with_title = true);
    // The members document, title, section, section_path, page, tokens, bytes (docs/formats.md).
    nlohmann::ordered_json json(const StoredPassage& passage);

private:
    struct Structure {
        std::string title;
        std::vector<Section> sections;
        std::optional<std::vector<Page>> pages{}; // read when they are asked for
    };
    Structure& of(int64_t document);

    Library& library_;
    std::map<int64_t, Structure> known_;
};

} // namespace palimpsest::storage
