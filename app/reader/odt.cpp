#include "app/reader/odt.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "app/reader/anchored_boxes.h"
#include "app/reader/list_numbers.h"
#include "app/reader/number.h"
#include "app/reader/odt_styles.h"
#include "app/reader/office_writer.h"
#include "app/reader/xml_document.h"

namespace palimpsest::reader {
namespace {

using storage::DocumentFact;
using storage::DocumentProblem;

constexpr int most_list_levels = 10, most_spaces = 1000;

struct ListLevel {
    NumberStyle style = NumberStyle::Bullet;
    std::string prefix, suffix;
    int start = 1;
};
using ListStyles = std::unordered_map<std::string, std::map<int, ListLevel>>; // by name, then level from 1

NumberStyle style_of(std::string_view format)
{
    if (format == "1") return NumberStyle::Arabic;
    if (format == "a") return NumberStyle::LowerLetter;
    if (format == "A") return NumberStyle::UpperLetter;
    if (format == "i") return NumberStyle::LowerRoman;
    if (format == "I") return NumberStyle::UpperRoman;
    return NumberStyle::None;
}

void read_list_styles(const pugi::xml_node& root, ListStyles& styles)
{
    for (const char* part : {"styles", "automatic-styles"})
        for (const pugi::xml_node& style : child_named(root, part).children()) {
            if (local_name(style) != "list-style") continue;
            std::map<int, ListLevel>& levels = styles[std::string(attribute_named(style, "name"))];
            for (const pugi::xml_node& node : style.children()) {
                const bool is_numbered = local_name(node) == "list-level-style-number";
                ListLevel& level = levels[number_in(attribute_named(node, "level"), 1)];
                if (is_numbered)
                    level = {.style = style_of(attribute_named(node, "num-format")),
                             .prefix = std::string(attribute_named(node, "num-prefix")),
                             .suffix = std::string(attribute_named(node, "num-suffix")),
                             .start = number_in(attribute_named(node, "start-value"), 1)};
            }
        }
}

bool is_left_out(const pugi::xml_node& node)
{
    constexpr std::string_view names[] = {"tracked-changes", "annotation",     "annotation-end",
                                          "note-citation",   "sequence-decls", "covered-table-cell",
                                          "ruby-text",       "forms",          "bibliography-source"};
    const std::string_view local = local_name(node);
    if (std::ranges::find(names, local) != std::end(names)) return true;
    if (local == "section" || local == "hidden-text")
        return attribute_named(node, "is-hidden") == "true" || attribute_named(node, "display") == "none";
    const std::string_view name = node.name(); // of pictures; a field may show the title of the document
    return name == "svg:title" || name == "svg:desc";
}

// Whether a field in the paragraph hides it.
bool hides_itself(const pugi::xml_node& paragraph)
{
    return attribute_named(child_named(paragraph, "hidden-paragraph"), "is-hidden") == "true";
}

// Whether what is drawn there is beside the text, such as a text box or a picture with its caption.
bool is_drawn(const pugi::xml_node& node)
{
    return std::string_view(node.name()).starts_with("draw:");
}

bool arranges_page(const pugi::xml_node& table)
{
    bool found = false;
    walk_xml(
        table,
        [&](const pugi::xml_node& node) {
            const std::string_view name = local_name(node);
            if (name != "table-row") return node == table || name == "table-rows" || name == "table-header-rows";
            found = found || std::ranges::count_if(node.children(), [](const auto& cell) {
                                 return local_name(cell) == "table-cell";
                             }) > 1;
            return false;
        },
        [](const pugi::xml_node&) {});
    return !found;
}

class Walk {
public:
    Walk(const ListStyles& lists, const OdtStyles& styles, OfficeWriter& writer)
        : list_styles_(lists), styles_(styles), writer_(writer)
    {
    }

    void run(const pugi::xml_node& body)
    {
        walk_xml(
            body, [this](const pugi::xml_node& node) { return enter(node); },
            [this](const pugi::xml_node& node) { leave(node); });
    }

private:
    struct List {
        std::string style;
        int next = 1;
    };

    bool enter(const pugi::xml_node& node)
    {
        if (node.type() == pugi::node_pcdata || node.type() == pugi::node_cdata) {
            add_text(node.value());
            return false;
        }
        const std::string_view name = local_name(node);
        if (is_left_out(node)) return false;
        if (!open_.empty() && is_drawn(node)) {
            if (!is_hidden()) boxes_.add(node);
            return false;
        }
        if (name == "p" || name == "h")
            begin_paragraph(node, name);
        else if (name == "span")
            begin_hidden(node, "text");
        else if (name == "s")
            add(std::string(
                static_cast<size_t>(std::clamp(number_in(attribute_named(node, "c"), 1), 1, most_spaces)), ' '));
        else if (name == "tab")
            add("\t");
        else if (name == "line-break")
            add("\n");
        else if (name == "note")
            return add_note(node);
        else if (name == "list")
            begin_list(node);
        else if (name == "list-item")
            begin_item(node);
        else if (name == "table")
            writer_.begin_table(arranges_page(node));
        else if (name == "table-cell")
            writer_.begin_cell();
        return true;
    }

    void leave(const pugi::xml_node& node)
    {
        const std::string_view name = local_name(node);
        if (name == "p" || name == "h") {
            end_paragraph();
        } else if (name == "span") {
            hidden_.pop_back();
        } else if (name == "list") {
            if (!lists_.empty()) lists_.pop_back();
            if (lists_.empty()) writer_.end_list();
        } else if (name == "list-item") {
            marker_.clear();
        } else if (name == "table-row") {
            writer_.end_row();
        } else if (name == "table") {
            writer_.end_table();
        }
    }

    void begin_paragraph(const pugi::xml_node& node, std::string_view name)
    {
        begin_hidden(node, "paragraph");
        if (hides_itself(node)) hidden_.back() = true;
        const std::string_view style = attribute_named(node, "style-name");
        Paragraph paragraph{.is_line = styles_.is_preformatted(style)};
        if (name == "h")
            paragraph.heading_level = std::max(1, number_in(attribute_named(node, "outline-level"), 1));
        if (name == "p" && styles_.is_title(style)) paragraph.heading_level = 1;
        paragraph.list_level = static_cast<int>(std::min(lists_.size(), size_t{most_list_levels}));
        if (!text_of(node).empty()) paragraph.marker = std::exchange(marker_, {});
        if (paragraph.heading_level > 0) paragraph.marker.clear(); // lists of headings only arrange them
        open_.push_back(std::move(paragraph));
    }

    void end_paragraph()
    {
        hidden_.pop_back();
        writer_.write(open_.back());
        open_.pop_back();
        if (open_.empty()) boxes_.walk([this](const pugi::xml_node& box) { run(box); });
    }

    void begin_hidden(const pugi::xml_node& node, std::string_view family)
    {
        hidden_.push_back(styles_.is_hidden(family, attribute_named(node, "style-name")).value_or(is_hidden()));
    }
    bool is_hidden() const { return !hidden_.empty() && hidden_.back(); }

    void begin_list(const pugi::xml_node& node)
    {
        List list{.style = std::string(attribute_named(node, "style-name"))};
        if (list.style.empty() && !lists_.empty()) list.style = lists_.back().style;
        lists_.push_back(list);
        const bool goes_on = attribute_named(node, "continue-numbering") == "true" ||
                             !attribute_named(node, "continue-list").empty();
        lists_.back().next = goes_on && last_numbers_.contains(key()) ? last_numbers_[key()] + 1 : level().start;
    }

    std::pair<std::string, size_t> key() const { return {lists_.back().style, lists_.size()}; }

    ListLevel level() const
    {
        const auto style = list_styles_.find(lists_.back().style);
        if (style == list_styles_.end()) return {};
        // A level that the style leaves out looks like the one above it.
        const auto after = style->second.upper_bound(static_cast<int>(lists_.size()));
        return after == style->second.begin() ? ListLevel() : std::prev(after)->second;
    }

    void begin_item(const pugi::xml_node& node)
    {
        if (lists_.empty()) return;
        List& list = lists_.back();
        list.next = number_in(attribute_named(node, "start-value"), list.next);
        const ListLevel of = level();
        last_numbers_[key()] = list.next;
        if (of.style == NumberStyle::Bullet)
            marker_ = "- ";
        else if (of.style != NumberStyle::None)
            marker_ = of.prefix + list_number(list.next, of.style) + of.suffix + " ";
        ++list.next;
    }

    bool add_note(const pugi::xml_node& node)
    {
        if (is_hidden()) return false;
        std::string text;
        walk_xml(
            child_named(node, "note-body"),
            [&](const pugi::xml_node& at) {
                const std::string_view name = local_name(at);
                if (at.type() == pugi::node_pcdata) text += at.value();
                if (name == "p" || name == "tab" || name == "line-break" || name == "s") text += ' ';
                return !is_left_out(at);
            },
            [](const pugi::xml_node&) {});
        add(writer_.add_note(on_one_line(text)));
        return false;
    }

    // White space in the file is one space; what should stay has elements of its own.
    void add_text(std::string_view text)
    {
        if (open_.empty() || is_hidden()) return;
        std::string& out = open_.back().text;
        for (const char c : text) {
            const bool is_space = c == ' ' || c == '\n' || c == '\t' || c == '\r';
            if (!is_space)
                out += c;
            else if (!out.empty() && out.back() != ' ' && (out.back() != '\n' || c == ' '))
                out += ' ';
        }
    }

    void add(std::string_view text)
    {
        if (!open_.empty() && !is_hidden()) open_.back().text += text;
    }

    const ListStyles& list_styles_;
    const OdtStyles& styles_;
    OfficeWriter& writer_;
    std::vector<Paragraph> open_;
    std::vector<bool> hidden_; // of every paragraph and span that is open
    AnchoredBoxes boxes_;      // and captions
    std::vector<List> lists_;
    std::string marker_;                                         // of the item that is open, for its first text
    std::map<std::pair<std::string, size_t>, int> last_numbers_; // by list style and level
};

void refuse_protected(ZipArchive& archive)
{
    const std::string name = "META-INF/manifest.xml";
    const auto bytes = archive.read(name);
    if (!bytes) return;
    pugi::xml_document manifest;
    load_xml(*bytes, name, manifest);
    for (const pugi::xml_node& entry : manifest.document_element().children())
        if (child_named(entry, "encryption-data"))
            throw Problem{DocumentProblem::Protected, Text("it is protected with a password"),
                          Text("save a copy without the password, and give that")};
}

void write_facts(ZipArchive& archive, TextWriter& writer)
{
    const std::string name = "meta.xml";
    pugi::xml_document xml;
    load_optional_xml(archive.read(name), name, xml);
    const pugi::xml_node meta = child_named(xml.document_element(), "meta");
    writer.fact(DocumentFact::Title, text_of(child_named(meta, "title")));
    const pugi::xml_node author = child_named(meta, "initial-creator");
    writer.fact(DocumentFact::Author, text_of(author ? author : child_named(meta, "creator")));
    writer.fact(DocumentFact::Language, text_of(child_named(meta, "language")));
}

} // namespace

bool is_odt(ZipArchive& archive)
{
    const auto type = archive.read("mimetype");
    return type && type->starts_with("application/vnd.oasis.opendocument.text");
}

void parse_odt(ZipArchive& archive, TextWriter& writer)
{
    writer.begin("OpenDocument");
    refuse_protected(archive);
    const std::string name = "content.xml", style_name = "styles.xml";
    const auto bytes = archive.read(name);
    pugi::xml_document content, styles;
    if (bytes) load_xml(*bytes, name, content);
    const pugi::xml_node body = child_named(child_named(content.document_element(), "body"), "text");
    if (!body)
        throw Problem{DocumentProblem::Damaged, Text("it is damaged: it holds no text document"),
                      Text("get it again, or open it in the program that made it and save it anew")};
    write_facts(archive, writer);
    if (const auto of = archive.read(style_name)) load_xml(*of, style_name, styles);
    ListStyles list_styles;
    OdtStyles known_styles;
    for (const pugi::xml_document* part : {&styles, &content}) {
        read_list_styles(part->document_element(), list_styles);
        known_styles.read(part->document_element());
    }
    OfficeWriter office(writer);
    Walk(list_styles, known_styles, office).run(body);
}

} // namespace palimpsest::reader
