#include "storage/session/quote.h"

#include <algorithm>

#include "storage/passages/passage_places.h"

namespace palimpsest::storage {

Text Quote::sentence(Store& store) const
{
    return Text("\"{0}\" ({1})", text, PassagePlaces(store.library).sentence(place, false));
}

nlohmann::ordered_json Quote::json(Store& store) const
{
    nlohmann::ordered_json quote{{"text", text}};
    quote.update(PassagePlaces(store.library).json(place));
    return quote;
}

Quote quote_from(const StoredPassage& passage, std::string_view text, size_t first, size_t end, Store& store)
{
    const auto ends = store.library.token_ends(passage.document, passage.first_token, passage.tokens());
    const auto token_at = [&](uint64_t byte) { // the token that contains the byte
        return passage.first_token +
               static_cast<uint64_t>(std::upper_bound(ends.begin(), ends.end(), byte) - ends.begin());
    };
    StoredPassage place = passage;
    place.first_byte = passage.first_byte + first;
    place.end_byte = passage.first_byte + end;
    place.first_token = token_at(place.first_byte);
    place.end_token = token_at(place.end_byte - 1) + 1;
    return {.text = std::string(text.substr(first, end - first)), .place = place};
}

} // namespace palimpsest::storage
