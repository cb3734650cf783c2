// Text of the engine and the storage, which is UTF-8, as text of the window.
#pragma once

#include <QString>
#include <string_view>

namespace palimpsest::ui {

inline QString text_of(std::string_view utf8)
{
    return QString::fromUtf8(utf8.data(), static_cast<qsizetype>(utf8.size()));
}

} // namespace palimpsest::ui
