#include "app/reader/epub_contents.h"

#include "app/reader/archive_link.h"
#include "app/reader/charset.h"
#include "app/reader/html_tree.h"
#include "app/reader/xml_document.h"

namespace palimpsest::reader {
namespace {

class Collector {
public:
    explicit Collector(const std::string& base) : base_(base) {}

    void add(int level, const std::string& title, std::string_view link)
    {
        if (title.empty() || link.empty()) return;
        const size_t hash = link.find('#');
        SectionsOfFile& file = contents_[resolved(base_, link)];
        const SectionMark mark{level, title};
        if (hash != link.npos && hash + 1 < link.size())
            file.by_id.emplace(without_percents(link.substr(hash + 1)), mark);
        else if (file.first.title.empty())
            file.first = mark;
    }
    EpubContents take() { return std::move(contents_); }

private:
    std::string base_;
    EpubContents contents_;
};

} // namespace

EpubContents contents_of_nav(std::string_view xhtml, const std::string& name)
{
    const HtmlTree tree(xhtml_as_html(decoded_text(xhtml, declared_charset(xhtml)).text));
    Collector collector(name);
    for (const LinkInNav& link : links_in_nav(tree))
        collector.add(link.level, link.title, link.target);
    return collector.take();
}

EpubContents contents_of_ncx(std::string_view xml, const std::string& name)
{
    pugi::xml_document document;
    load_xml(xml, name, document);
    Collector collector(name);
    int level = 0;
    walk_xml(
        document.document_element(),
        [&](const pugi::xml_node& node) {
            if (local_name(node) == "pageList" || local_name(node) == "navList") return false;
            if (local_name(node) != "navPoint") return true;
            ++level;
            const std::string title = on_one_line(text_of(child_named(child_named(node, "navLabel"), "text")));
            collector.add(level, title, attribute_named(child_named(node, "content"), "src"));
            return true;
        },
        [&](const pugi::xml_node& node) { level -= local_name(node) == "navPoint"; });
    return collector.take();
}

} // namespace palimpsest::reader
