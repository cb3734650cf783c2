#include "storage/session/stored_notes.h"

#include <string>

#include "storage/reader/empty_pages.h"
#include "storage/reader/note_messages.h"

namespace palimpsest::storage {

std::vector<Text> notes_of_reader(Library& library, const DocumentInfo& document)
{
    if (const std::string notes = library.reader_notes(document.id); !notes.empty()) return decoded_notes(notes);
    if (document.format != "PDF") return {}; // pages of other formats are no pictures
    const std::vector<std::string> labels = library.pages_without_text(document.id);
    if (labels.empty()) return {};
    return {empty_pages_words(labels, library.pages(document.id).size())};
}

} // namespace palimpsest::storage
