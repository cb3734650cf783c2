#include "storage/session/library_addition.h"

#include "storage/session/session_framing.h"

namespace palimpsest::storage {
namespace {

// Whether other files may fare better.
bool is_about_the_file(ErrorCode code)
{
    switch (code) {
    case ErrorCode::DocumentNotFound:
    case ErrorCode::UnreadableDocument:
    case ErrorCode::UnsupportedDocument:
    case ErrorCode::EmptyDocument:
    case ErrorCode::DocumentTooLarge:
    case ErrorCode::ProtectedDocument:
    case ErrorCode::MalformedDocument:
    case ErrorCode::ReaderFailed:
        return true;
    default:
        return false;
    }
}

} // namespace

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
        if (!is_about_the_file(error.code())) throw;
        return {.file = file, .error = error};
    }
}

} // namespace palimpsest::storage
