#include "app/palimpsest/completion/shell_scripts.h"

namespace palimpsest::app {

std::string spaced(const std::vector<std::string>& words)
{
    std::string text;
    for (const std::string& word : words)
        text += (text.empty() ? "" : " ") + word;
    return text;
}

} // namespace palimpsest::app
