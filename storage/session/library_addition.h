// Adds files to the library: documents that stay stored without a session.
#pragma once

#include <istream>
#include <memory>
#include <optional>
#include <string>

#include "engine/model/model.h"
#include "kernels/base/error.h"
#include "storage/session/document_storer.h"

namespace palimpsest::storage {

struct AddedFile {
    std::string file;
    std::optional<DocumentInfo> info{}; // nullopt: it cannot be read, see `error`
    bool is_new = false;                // it was not in the library before
    std::optional<Error> error{};
};

class LibraryAddition {
public:
    // Stores documents as `model` reads the first one of a session. Store and listener must outlive this.
    LibraryAddition(Store& store, const std::shared_ptr<const engine::Model>& model, Listener& listener);

    // `in`: what the name "-" stands for. Throws Error for what would stop every file, such as a full disk, and
    // Interrupted.
    AddedFile add(const std::string& file, std::istream& in);

private:
    Store& store_;
    Listener& listener_;
    DocumentStorer storer_;
};

} // namespace palimpsest::storage
