#include "ui/document/accessible_text.h"

#include <algorithm>
#include <cmath>

namespace palimpsest::ui {

int AccessibleText::offset_of(uint64_t token) const
{
    int offset = 0;
    for (const DocumentItem* item : layout_.visible()) {
        if (item->has_token(token)) return offset + item->block.start_of(token);
        offset += static_cast<int>(item->block.text.size()) + 1;
    }
    return -1;
}

uint64_t AccessibleText::token_at(int offset) const
{
    for (const DocumentItem* item : layout_.visible()) {
        const int length = static_cast<int>(item->block.text.size());
        if (offset <= length) return item->block.token_at(offset);
        offset -= length + 1;
    }
    return layout_.visible_range().last;
}

QRect AccessibleText::rect_at(int offset) const
{
    for (const DocumentItem* item : layout_.visible()) {
        const int length = static_cast<int>(item->block.text.size());
        if (offset > length) {
            offset -= length + 1;
            continue;
        }
        const QTextLine line = item->layout.lineForTextPosition(offset);
        if (!line.isValid()) return {};
        const CharacterBox box = character_box(line, offset);
        return QRectF(layout_.column().left() + box.left, item->y + item->caption + line.y(), box.right - box.left,
                      line.height())
            .toAlignedRect();
    }
    return {};
}

} // namespace palimpsest::ui
