// Converts the UTF-8 text of the engine and the storage to Qt's strings.
#pragma once

#include <QString>
#include <string_view>

namespace palimpsest::ui {

inline QString text_of(std::string_view utf8)
{
    return QString::fromUtf8(utf8.data(), static_cast<qsizetype>(utf8.size()));
}

} // namespace palimpsest::ui
