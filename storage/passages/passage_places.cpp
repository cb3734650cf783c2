#include "storage/passages/passage_places.h"

#include "engine/text/unicode/visible_text.h"
#include "kernels/base/byte_quantity.h"
#include "kernels/base/printable.h"

namespace palimpsest::storage {

PassagePlaces::Structure& PassagePlaces::of(int64_t document)
{
    const auto known = known_.find(document);
    if (known != known_.end()) return known->second;
    return known_
        .emplace(document, Structure{.title = library_.get(document).title,
                                     .sections = SectionTree(library_.sections(document))})
        .first->second;
}

const std::string& PassagePlaces::title(int64_t document)
{
    return of(document).title;
}

const Section* PassagePlaces::section(const StoredPassage& passage)
{
    const auto& sections = of(passage.document).sections.all();
    const bool is_there = passage.section >= 0 && passage.section < std::ssize(sections);
    return is_there ? &sections[static_cast<size_t>(passage.section)] : nullptr;
}

std::string PassagePlaces::name(const StoredPassage& passage, bool with_title)
{
    const Section* in = section(passage);
    if (!in) return title(passage.document);
    return with_title ? title(passage.document) + ", " + in->title : in->title;
}

PageRange PassagePlaces::pages(const StoredPassage& passage)
{
    auto& pages = of(passage.document).pages;
    if (!pages) pages = library_.pages(passage.document);
    return pages_of(*pages, passage.first_token, passage.end_token);
}

std::string PassagePlaces::shown(const std::string& title) const
{
    std::string text = printable(title);
    return for_people_ ? engine::isolated(std::move(text)) : text;
}

Text PassagePlaces::sentence(const StoredPassage& passage, bool with_title)
{
    const std::string document = shown(title(passage.document)), first = format_count(passage.first_token),
                      last = format_count(passage.end_token - 1);
    const Section* in = section(passage);
    const PageRange on = pages(passage);
    const std::string heading = in ? shown(in->title) : "";
    const std::string name = !in ? document : with_title ? document + ", " + heading : heading;
    if (on.empty()) return Text("{0}, tokens {1} to {2}", name, first, last);
    return Text("{0}, {1}, tokens {2} to {3}", name, page_words({shown(on.first), shown(on.last)}), first, last);
}

nlohmann::ordered_json PassagePlaces::json(const StoredPassage& passage)
{
    using Json = nlohmann::ordered_json;
    const Section* in = section(passage);
    const PageRange on = pages(passage);
    const auto or_null = [](const std::string& label) { return label.empty() ? Json() : Json(label); };
    Json path = Json::array();
    if (in)
        for (const Section* outer : of(passage.document).sections.path(static_cast<size_t>(passage.section)))
            path.push_back(outer->title);
    return {{"document", passage.document},
            {"title", title(passage.document)},
            {"section", in ? Json(in->title) : Json()},
            {"section_path", path},
            {"page", or_null(on.first)},
            {"last_page", or_null(on.last)},
            {"tokens", {passage.first_token, passage.end_token}},
            {"bytes", {passage.first_byte, passage.end_byte}}};
}

} // namespace palimpsest::storage
