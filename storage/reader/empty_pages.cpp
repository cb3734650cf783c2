#include "storage/reader/empty_pages.h"

#include <algorithm>

namespace palimpsest::storage {

Text empty_pages_words(std::span<const std::string> labels, size_t pages)
{
    constexpr size_t most_named = 20;
    std::string names;
    for (const std::string& label : labels.first(std::min(labels.size(), most_named)))
        names.append(names.empty() ? "" : ", ").append(label);
    if (labels.size() > most_named) names += ", …";
    if (labels.size() == 1)
        return Text("page {0} of {1} has no text, and may be a picture", Text::escaped(names), pages);
    return Text("{0} of {1} pages have no text, and may be pictures: {2}", labels.size(), pages,
                Text::escaped(names));
}

} // namespace palimpsest::storage
