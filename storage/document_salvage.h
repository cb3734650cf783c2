// Compares the documents that were copied from a damaged database with their checksums and with each other.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "storage/database.h"
#include "storage/document_blocks.h"
#include "storage/loss.h"
#include "storage/row_salvage.h"

namespace palimpsest::storage {

class DocumentSalvage {
public:
    // `known_blocks`: what the index of the blocks says; its values are documents. `check_stop` is called at every
    // block that is compared, and may throw. The arguments must outlive this.
    DocumentSalvage(Database& database, const std::vector<RowSalvage::IndexEntry>& known_blocks,
                    const std::function<void()>& check_stop)
        : db_(database), known_blocks_(known_blocks), check_stop_(check_stop)
    {
    }

    // Makes an entry for every document that is used and has none. Within a transaction, as the others.
    void make_lost();
    void remove_empty();
    // A block that is missing, altered or another document's stays, or is made, as a damaged one in its place.
    void check(int64_t document);
    void keep_unused();

    // What is lost of each, the worst.
    const std::map<int64_t, LostPart>& losses() const { return losses_; }

private:
    struct Blocks;
    Blocks blocks_of(int64_t document, DocumentBlock kind);
    void make_damaged_block(int64_t document, DocumentBlock kind, int64_t index, int64_t behind);
    void give_up(int64_t document, const Blocks& blocks, DocumentBlock kind);

    Database& db_;
    const std::vector<RowSalvage::IndexEntry>& known_blocks_;
    const std::function<void()>& check_stop_;
    std::map<int64_t, LostPart> losses_;
};

} // namespace palimpsest::storage
