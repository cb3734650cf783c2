#include "app/reader/epub.h"

#include <optional>
#include <unordered_set>
#include <vector>

#include "app/reader/archive_link.h"
#include "app/reader/charset.h"
#include "app/reader/epub_contents.h"
#include "app/reader/html_text.h"
#include "app/reader/xml_document.h"

namespace palimpsest::reader {
namespace {

using storage::DocumentFact;
using storage::DocumentProblem;

constexpr size_t most_spine_items = 5000; // docs/validation.md, L12
const std::string container_name = "META-INF/container.xml";

[[noreturn]] void refuse_missing(const std::string& name)
{
    throw Problem{DocumentProblem::Damaged, Text("it is damaged: {0} is missing in it", Text::escaped(name)),
                  Text("get it again, or open it in the program that made it and save it anew")};
}

std::string required(ZipArchive& archive, const std::string& name)
{
    if (auto bytes = archive.read(name)) return *std::move(bytes);
    refuse_missing(name);
}

struct ManifestItem {
    std::string file; // in the archive; empty if it is outside
    std::string media_type, properties;
};

// The package document: metadata, files, and the order of reading.
struct Package {
    std::string file;
    pugi::xml_document xml;
    std::unordered_map<std::string, ManifestItem> items; // by id
    std::vector<std::string> spine;                      // ids
};

std::string package_file(ZipArchive& archive)
{
    pugi::xml_document container;
    load_xml(required(archive, container_name), container_name, container);
    const pugi::xml_node root = child_named(child_named(container.document_element(), "rootfiles"), "rootfile");
    std::string file = resolved("", attribute_named(root, "full-path"));
    if (file.empty()) refuse_missing("the package document");
    return file;
}

void read_package(ZipArchive& archive, Package& package)
{
    package.file = package_file(archive);
    load_xml(required(archive, package.file), package.file, package.xml);
    const pugi::xml_node root = package.xml.document_element();
    for (const pugi::xml_node& item : child_named(root, "manifest").children())
        package.items.emplace(attribute_named(item, "id"),
                              ManifestItem{.file = resolved(package.file, attribute_named(item, "href")),
                                           .media_type = std::string(attribute_named(item, "media-type")),
                                           .properties = std::string(attribute_named(item, "properties"))});
    for (const pugi::xml_node& reference : child_named(root, "spine").children()) {
        if (local_name(reference) != "itemref") continue;
        package.spine.emplace_back(attribute_named(reference, "idref"));
        if (package.spine.size() > most_spine_items)
            throw Problem{DocumentProblem::TooLarge,
                          Text("it has more than {0} parts, the limit", most_spine_items),
                          Text("divide it into several files")};
    }
}

// Files that are encrypted. Fonts that are only made hard to copy do not matter.
std::unordered_set<std::string> encrypted_files(ZipArchive& archive)
{
    const std::string name = "META-INF/encryption.xml";
    const auto bytes = archive.read(name);
    if (!bytes) return {};
    pugi::xml_document xml;
    load_xml(*bytes, name, xml);
    std::unordered_set<std::string> files;
    for (const pugi::xml_node& data : xml.document_element().children()) {
        const std::string_view algorithm = attribute_named(child_named(data, "EncryptionMethod"), "Algorithm");
        const bool is_font = algorithm.ends_with("obfuscation") || algorithm.ends_with("#RC");
        const pugi::xml_node reference = child_named(child_named(data, "CipherData"), "CipherReference");
        if (!is_font) files.insert(resolved("", attribute_named(reference, "URI")));
    }
    return files;
}

void refuse_protected(ZipArchive& archive, const Package& package)
{
    const std::unordered_set<std::string> encrypted = encrypted_files(archive);
    for (const std::string& id : package.spine) {
        const auto item = package.items.find(id);
        if (item != package.items.end() && encrypted.contains(item->second.file))
            throw Problem{DocumentProblem::Protected,
                          Text("it is protected against copying (DRM) and cannot be opened"),
                          Text("get it without DRM from the shop that sold it")};
    }
}

void write_facts(const Package& package, TextWriter& writer)
{
    const pugi::xml_node metadata = child_named(package.xml.document_element(), "metadata");
    const auto write_first = [&](std::string_view name, DocumentFact fact) {
        writer.fact(fact, text_of(child_named(metadata, name)));
    };
    write_first("title", DocumentFact::Title);
    std::string authors;
    for (const pugi::xml_node& node : metadata.children())
        if (local_name(node) == "creator")
            authors.append(authors.empty() ? "" : ", ").append(on_one_line(text_of(node)));
    writer.fact(DocumentFact::Author, authors);
    write_first("language", DocumentFact::Language);
}

const ManifestItem* find_item(const Package& package, bool (*is_it)(const ManifestItem&))
{
    for (const auto& [id, item] : package.items)
        if (is_it(item)) return &item;
    return nullptr;
}

bool is_nav(const ManifestItem& item)
{
    return (" " + item.properties + " ").find(" nav ") != std::string::npos;
}

// The NCX that the spine names, or else the one that is there.
const ManifestItem* find_ncx(const Package& package)
{
    const pugi::xml_node spine = child_named(package.xml.document_element(), "spine");
    const auto named = package.items.find(std::string(attribute_named(spine, "toc")));
    if (named != package.items.end()) return &named->second;
    return find_item(package,
                     [](const ManifestItem& item) { return item.media_type == "application/x-dtbncx+xml"; });
}

// The table of contents; without one, sections are the headings of the content documents. A book with a damaged one
// can still be read.
EpubContents read_contents(ZipArchive& archive, const Package& package, TextWriter& writer)
try {
    if (const ManifestItem* nav = find_item(package, is_nav))
        if (const auto bytes = archive.read(nav->file))
            if (EpubContents contents = contents_of_nav(*bytes, nav->file); !contents.empty()) return contents;
    const ManifestItem* ncx = find_ncx(package);
    const auto bytes = ncx ? archive.read(ncx->file) : std::nullopt;
    return bytes ? contents_of_ncx(*bytes, ncx->file) : EpubContents();
} catch (const Problem&) {
    writer.note(Text("the table of contents is damaged: sections are the headings of the text"));
    return {};
}

bool is_text(const ManifestItem& item)
{
    return item.media_type == "application/xhtml+xml" || item.media_type == "text/html" ||
           item.media_type == "text/x-oeb1-document";
}

// The nav document, and what EPUB 2 calls the table of contents.
std::unordered_set<std::string> contents_files(const Package& package)
{
    std::unordered_set<std::string> files;
    if (const ManifestItem* nav = find_item(package, is_nav)) files.insert(nav->file);
    for (const pugi::xml_node& reference : child_named(package.xml.document_element(), "guide").children())
        if (attribute_named(reference, "type") == "toc")
            files.insert(resolved(package.file, attribute_named(reference, "href")));
    return files;
}

// From all style sheets but damaged ones, without which a book can be read.
CssListStyles css_list_styles(ZipArchive& archive, const Package& package)
{
    CssListStyles styles;
    for (const auto& [id, item] : package.items) {
        if (item.media_type != "text/css") continue;
        try {
            if (const auto css = archive.read(item.file)) styles.read(*css);
        } catch (const Problem&) {
        }
    }
    return styles;
}

// `has_contents`: the file has the table of contents, which is no text. A file that has more than that is read.
void write_part(const std::string& bytes, const SectionsOfFile& sections, bool has_contents,
                const CssListStyles& list_styles, TextWriter& writer)
{
    const HtmlTree tree(xhtml_as_html(decoded_text(bytes, declared_charset(bytes)).text));
    if (has_contents && is_list_of_links(tree)) return;
    write_html_text(tree,
                    {.without_navigation = has_contents,
                     .list_styles = &list_styles,
                     .sections = &sections.by_id,
                     .first_section = sections.first},
                    writer);
}

} // namespace

bool is_epub(ZipArchive& archive)
{
    const auto type = archive.read("mimetype");
    return (type && type->starts_with("application/epub+zip")) || archive.has(container_name);
}

void parse_epub(ZipArchive& archive, TextWriter& writer)
{
    writer.begin("EPUB");
    Package package;
    read_package(archive, package);
    refuse_protected(archive, package);
    write_facts(package, writer);
    const EpubContents contents = read_contents(archive, package, writer);
    const SectionsOfFile none;
    const std::unordered_set<std::string> with_contents = contents_files(package);
    const CssListStyles list_styles = css_list_styles(archive, package);
    std::unordered_set<std::string> written;
    size_t missing = 0, done = 0;
    for (const std::string& id : package.spine) {
        writer.progress(done++, package.spine.size());
        const auto item = package.items.find(id);
        // A file that is named twice is read once.
        if (item != package.items.end() && !written.insert(item->second.file).second) continue;
        const auto bytes =
            item == package.items.end() || !is_text(item->second) ? std::nullopt : archive.read(item->second.file);
        if (!bytes) {
            ++missing;
            continue;
        }
        const auto sections = contents.find(item->second.file);
        write_part(*bytes, sections == contents.end() ? none : sections->second,
                   with_contents.contains(item->second.file), list_styles, writer);
    }
    writer.progress(done, package.spine.size());
    if (missing > 0)
        writer.note(Text("parts of the book that are missing in the file, or are no text: {0} of {1}", missing,
                         package.spine.size()));
}

} // namespace palimpsest::reader
