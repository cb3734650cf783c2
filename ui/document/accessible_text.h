// Converts between tokens and the character offsets that assistive technology uses: UTF-16 units of
// DocumentLayout::visible_text().
#pragma once

#include "ui/document/document_layout.h"

namespace palimpsest::ui {

class AccessibleText {
public:
    explicit AccessibleText(const DocumentLayout& layout) : layout_(layout) {} // must outlive this object

    int offset_of(uint64_t token) const; // -1 if not visible
    uint64_t token_at(int offset) const;
    QRect rect_at(int offset) const; // in the viewport

private:
    const DocumentLayout& layout_;
};

} // namespace palimpsest::ui
