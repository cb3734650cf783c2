// Whether the question is known while its document is read.
#pragma once

#include <cstdint>

namespace palimpsest::engine {

enum class Protocol : uint8_t {
    Blind,       // the question comes after reading
    Steered,     // the question's rows attend to every chunk during reading and are then removed
    QuestionLast // document and question are one input
};

const char* name_of(Protocol protocol); // "blind", "steered", "question-last", as the JSON documents have it

} // namespace palimpsest::engine
