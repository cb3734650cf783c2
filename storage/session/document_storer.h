// Stores documents with the token ids of one model, each content once: a file whose content is stored already is
// neither parsed nor indexed again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/model/model.h"
#include "storage/session/document.h"
#include "storage/session/listener.h"
#include "storage/session/store.h"

namespace palimpsest::storage {

// An absolute path, so that the file is found again from another folder; "-" for a pipe.
std::string source_of(const Document& document);

struct StoredDocument {
    DocumentInfo info;
    bool is_new = true; // false: its content was stored before
};

class DocumentStorer {
public:
    // `first_text`: as Tokenizer::encode takes it; the ids of a document depend on it. The arguments must outlive
    // this.
    DocumentStorer(Store& store, const engine::Model& model, bool first_text, Listener& listener)
        : store_(store), model_(model), first_text_(first_text), listener_(listener)
    {
    }

    // Reads a document to its end and stores it, unless it was stored here from a file with the same size, hash and
    // extension, with the same ids, by this version of the parsers, and is undamaged; then the file is read once,
    // to hash it, and the listener is told what could not be read, as at the first time. Throws Error:
    // EmptyDocument, or as Document::next; Interrupted.
    StoredDocument store(Document& document);
    // Stores a further copy of a document with the ids of this model at this place in a stream, from its stored
    // text; returns the document itself if it has them. Throws Error (Failed, PAL-DOC-05) if it is damaged.
    StoredDocument store_copy(const DocumentInfo& stored);

private:
    std::optional<DocumentInfo> same_file(const Document& document);
    bool is_intact(const DocumentInfo& stored);
    void tell_reader_notes(const std::string& name, const DocumentInfo& stored);
    Library::Making making() const;
    int64_t import(Document& document);
    int64_t import_text_of(const DocumentInfo& stored);
    bool may_go_on() const { return !listener_.stop().stop_requested(); }

    Store& store_;
    const engine::Model& model_;
    bool first_text_;
    Listener& listener_;
};

} // namespace palimpsest::storage
