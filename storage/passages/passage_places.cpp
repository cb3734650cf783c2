#include "storage/passages/passage_places.h"

#include "kernels/base/byte_quantity.h"
#include "kernels/base/printable.h"

namespace palimpsest::storage {

const PassagePlaces::Titles& PassagePlaces::of(int64_t document)
{
    const auto known = known_.find(document);
    if (known != known_.end()) return known->second;
    return known_.emplace(document, Titles{library_.get(document).title, library_.sections(document)})
        .first->second;
}

const std::string& PassagePlaces::title(int64_t document)
{
    return of(document).own;
}

const Section* PassagePlaces::section(const StoredPassage& passage)
{
    const auto& sections = of(passage.document).sections;
    const bool is_there = passage.section >= 0 && passage.section < std::ssize(sections);
    return is_there ? &sections[static_cast<size_t>(passage.section)] : nullptr;
}

std::string PassagePlaces::name(const StoredPassage& passage, bool with_title)
{
    const Section* in = section(passage);
    if (!in) return title(passage.document);
    return with_title ? title(passage.document) + ", " + in->title : in->title;
}

Text PassagePlaces::sentence(const StoredPassage& passage, bool with_title)
{
    const std::string document = printable(title(passage.document)), first = format_count(passage.first_token),
                      last = format_count(passage.end_token - 1);
    const Section* in = section(passage);
    if (!in) return Text("{0}, tokens {1} to {2}", document, first, last);
    const std::string heading = printable(in->title);
    return with_title ? Text("{0}, {1}, tokens {2} to {3}", document, heading, first, last)
                      : Text("{0}, tokens {1} to {2}", heading, first, last);
}

nlohmann::ordered_json PassagePlaces::json(const StoredPassage& passage)
{
    const Section* in = section(passage);
    return {{"document", passage.document},
            {"title", title(passage.document)},
            {"section", in ? nlohmann::ordered_json(in->title) : nlohmann::ordered_json()},
            {"page", nullptr},
            {"tokens", {passage.first_token, passage.end_token}},
            {"bytes", {passage.first_byte, passage.end_byte}}};
}

} // namespace palimpsest::storage
