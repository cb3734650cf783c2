#include "app/reader/epub_contents.h"

#include <algorithm>

#include "app/reader/charset.h"
#include "app/reader/html_tree.h"
#include "app/reader/xml_document.h"

namespace palimpsest::reader {
namespace {

int hex_value(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

std::string without_percents(std::string_view link)
{
    std::string out;
    for (size_t i = 0; i < link.size(); ++i) {
        const int high = i + 2 < link.size() && link[i] == '%' ? hex_value(link[i + 1]) : -1;
        const int low = high >= 0 ? hex_value(link[i + 2]) : -1;
        if (low >= 0) {
            out += static_cast<char>(high * 16 + low);
            i += 2;
        } else {
            out += link[i];
        }
    }
    return out;
}

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

std::string resolved(const std::string& base, std::string_view link)
{
    const std::string path = without_percents(link.substr(0, link.find('#')));
    if (path.empty()) return base;
    if (path.find(':') != path.npos && path.find(':') < path.find('/')) return {}; // a scheme
    std::string full = path.front() == '/' ? path.substr(1) : base.substr(0, base.rfind('/') + 1) + path;
    std::vector<std::string_view> parts;
    for (size_t begin = 0; begin <= full.size();) {
        const size_t end = std::min(full.find('/', begin), full.size());
        const std::string_view part = std::string_view(full).substr(begin, end - begin);
        begin = end + 1;
        if (part == ".." && parts.empty()) return {};
        if (part == "..")
            parts.pop_back();
        else if (part != "." && !part.empty())
            parts.push_back(part);
    }
    std::string out;
    for (const std::string_view part : parts)
        out.append(out.empty() ? "" : "/").append(part);
    return out;
}

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
