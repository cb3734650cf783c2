// Where passages stand: the titles of their documents and sections, and their pages.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "kernels/base/text.h"
#include "storage/library.h"
#include "storage/page_range.h"
#include "storage/passage_index.h"
#include "storage/section_tree.h"

namespace palimpsest::storage {

// Remembers what it has read from the database.
class PassagePlaces {
public:
    // `for_people`: sentences isolate right-to-left titles, so that these reorder nothing around them. A program
    // that reads the sentences would take the marks for a part of the title.
    explicit PassagePlaces(Library& library, bool for_people = false) : library_(library), for_people_(for_people)
    {
    }

    const std::string& title(int64_t document);
    // Null before the first section.
    const Section* section(const StoredPassage& passage);
    // For the model: the title of the section, else that of the document; both if `with_title`.
    std::string name(const StoredPassage& passage, bool with_title);
    // Empty before the first page, and in a document without pages.
    PageRange pages(const StoredPassage& passage);
    // For the user: "TITLE, SECTION, pages 12–14, tokens 1,200 to 1,399"; without `with_title`, the title only if
    // there is no section.
    Text sentence(const StoredPassage& passage, bool with_title = true);
    // The members document, title, section, section_path, page, last_page, tokens, bytes (docs/formats.md).
    nlohmann::ordered_json json(const StoredPassage& passage);

private:
    struct Structure {
        std::string title;
        SectionTree sections;
        std::optional<std::vector<Page>> pages{}; // read when they are asked for
    };
    Structure& of(int64_t document);
    std::string shown(const std::string& title) const; // in a sentence

    Library& library_;
    bool for_people_;
    std::map<int64_t, Structure> known_;
};

} // namespace palimpsest::storage
