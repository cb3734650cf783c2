// The content of resources/messages/de.json. The build generates the definition (engine/CMakeLists.txt).
#pragma once

#include <cstddef>

namespace palimpsest::engine {

extern const unsigned char german_messages[];
extern const size_t german_messages_bytes;

} // namespace palimpsest::engine
