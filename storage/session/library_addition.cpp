#include "storage/session/library_addition.h"

#include "storage/session/session_framing.h"

namespace palimpsest::storage {

LibraryAddition::LibraryAddition(Store& store, const std::shared_ptr<const engine::Model>& model,
                                 Listener& listener)
    : store_(store), listener_(listener),
      storer_(store, *model, SessionFraming(model, {}, "").chat_template().document_is_first_text(), listener)
{
}

AddedFile LibraryAddition::add(const std::string& file, std::istream& in)
{
    try {
        Document document(file, in, listener_.stop());
        DocumentInfo info = storer_.store(document).info;
        const bool is_new = info.kept_ms == 0;
        store_.library.keep(info.id);
        return {.file = file, .info = store_.library.get(info.id), .is_new = is_new};
    } catch (const Error& error) {
        if (!name_of(error.code()).starts_with("PAL-DOC-")) throw; // it would stop every file
        return {.file = file, .error = error};
    }
}

} // namespace palimpsest::storage
