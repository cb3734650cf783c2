#include "ui/document/item_cache.h"

namespace palimpsest::ui {

void ItemCache::set_source(TextSource* source)
{
    reader_ = source ? std::make_unique<BlockReader>(*source) : nullptr;
    forget_all();
}

DocumentItem* ItemCache::item_of(uint64_t token)
{
    auto block = reader_->block_of(token);
    if (!block) return nullptr;
    auto& item = items_[block->range.first];
    if (!item) item = std::make_unique<DocumentItem>(std::move(*block), column_);
    return item.get();
}

void ItemCache::forget_all()
{
    items_.clear();
}

void ItemCache::trim(const std::vector<DocumentItem*>& visible)
{
    if (items_.size() <= most_items) return;
    std::unordered_map<uint64_t, std::unique_ptr<DocumentItem>> kept;
    for (const DocumentItem* item : visible) {
        const uint64_t first = item->block.range.first;
        kept.emplace(first, std::move(items_[first]));
    }
    items_ = std::move(kept);
}

} // namespace palimpsest::ui
