// The blocks of a text that are laid out for one column. Memory: at most most_items items, or only the visible ones
// if these are more.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "ui/document/document_item.h"

namespace palimpsest::ui {

class ItemCache {
public:
    static constexpr size_t most_items = 384; // visible ones included

    // Forgets all items. Null: no text is open. `source` must outlive the cache or its next set_source(). Call it
    // again when the outline of the source has changed.
    void set_source(TextSource* source);
    void set_column(const TextColumn& column) { column_ = column; } // for items laid out from now on
    const TextColumn& column() const { return column_; }

    // Returns the block with the token, laid out. If its page is not loaded, requests the page and returns null.
    // REQUIRES: token < source.tokens().
    DocumentItem* item_of(uint64_t token);
    void forget_all();
    // If there are more than most_items items, forgets all but the visible ones.
    void trim(const std::vector<DocumentItem*>& visible);

private:
    std::unique_ptr<BlockReader> reader_;
    TextColumn column_;
    std::unordered_map<uint64_t, std::unique_ptr<DocumentItem>> items_; // by first token
};

} // namespace palimpsest::ui
