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

    // Reads a document to its end and stores it, unless the same content is stored; then its file is read once, to
    // hash it. Content is the same if size, hash and file name extension are. Throws Error: EmptyDocument, or as
    // Document::next; Interrupted.
    StoredDocument store(Document& document);
    // Stores a further copy of a document with the ids of this model, from its stored text; returns the document
    // itself if it has them.
    StoredDocument store_copy(const DocumentInfo& stored);

private:
    std::optional<DocumentInfo> same_file(const Document& document);
    bool has_same_beginning(const DocumentInfo& stored);
    int64_t import(Document& document);
    int64_t import_text_of(const DocumentInfo& stored);
    bool may_go_on() const { return !listener_.stop().stop_requested(); }

    Store& store_;
    const engine::Model& model_;
    bool first_text_;
    Listener& listener_;
};

} // namespace palimpsest::storage
