// Where the values of an option or argument come from when a shell completes them.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class Option;
}

namespace palimpsest::app {

enum class ValueKind {
    Free,  // cannot be listed: a number, a text, a new name
    Words, // one of `words`
    Names, // stored or registered things; `palimpsest completions --names` lists them for the one word of `words`
    List,  // several of such names, separated by commas
    Files, // with one of the endings in `words`; with any if there are none
    Models // a name of a model, or a file or folder
};

struct ValueSource {
    ValueKind kind = ValueKind::Free;
    std::vector<std::string> words{};
};

// `command`: the words after the program's name, such as "sessions show".
ValueSource value_source(const std::string& command, const CLI::Option& option);

} // namespace palimpsest::app
