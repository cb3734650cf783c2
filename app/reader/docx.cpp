#include "app/reader/docx.h"

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include "app/reader/anchored_boxes.h"
#include "app/reader/archive_link.h"
#include "app/reader/docx_styles.h"
#include "app/reader/office_writer.h"
#include "app/reader/xml_document.h"

namespace palimpsest::reader {
namespace {

using storage::DocumentFact;

using Notes = std::unordered_map<std::string, pugi::xml_node>; // by id

// A part of the package that may be missing.
class Part {
public:
    Part(ZipArchive& archive, const std::string& name)
    {
        if (const auto bytes = archive.read(name)) load_xml(*bytes, name, xml_);
    }
    pugi::xml_node root() const { return xml_.document_element(); }
    Notes notes() const
    {
        Notes notes;
        for (const pugi::xml_node& note : root().children())
            notes.emplace(attribute_named(note, "id"), note);
        return notes;
    }

private:
    pugi::xml_document xml_;
};

// Which parts a part refers to, by the last word of the relation's type: "styles", "footnotes".
class Relations {
public:
    // `name`: of the part; empty for those of the package.
    Relations(ZipArchive& archive, const std::string& name)
        : archive_(archive), folder_(name.substr(0, name.rfind('/') + 1)),
          part_(archive, folder_ + "_rels/" + name.substr(folder_.size()) + ".rels")
    {
    }
    std::string target(std::string_view type, const std::string& otherwise) const
    {
        for (const pugi::xml_node& relation : part_.root().children()) {
            const std::string_view of = attribute_named(relation, "Type"),
                                   target = attribute_named(relation, "Target");
            if (of.substr(of.rfind('/') + 1) != type) continue;
            std::string name = resolved(folder_, target);
            if (!name.empty() && archive_.has(name)) return name;
        }
        return folder_ + otherwise;
    }

private:
    const ZipArchive& archive_;
    std::string folder_;
    Part part_;
};

bool is_left_out(std::string_view name)
{
    constexpr std::string_view names[] = {"del",     "moveFrom", "delText", "instrText", "pPr",
                                          "rPr",     "tblPr",    "trPr",    "tcPr",      "sectPr",
                                          "tblGrid", "Fallback", "sdtPr",   "rt",        "posOffset"};
    return std::ranges::find(names, name) != std::end(names);
}

// A table of one column frames what it holds.
bool arranges_page(const pugi::xml_node& table)
{
    for (const pugi::xml_node& row : table.children()) {
        if (local_name(row) != "tr") continue;
        if (std::ranges::count_if(row.children(), [](const auto& cell) { return local_name(cell) == "tc"; }) > 1)
            return false;
    }
    return true;
}

// Whether an empty cell says that it is merged with the one above it, although it is in the first row.
bool continues_nothing(const pugi::xml_node& cell)
{
    const pugi::xml_node merge = child_named(child_named(cell, "tcPr"), "vMerge");
    if (!merge || attribute_named(merge, "val") == "restart") return false;
    pugi::xml_node row = cell.parent().previous_sibling();
    while (row && local_name(row) != "tr")
        row = row.previous_sibling();
    return !row && text_of(cell).empty();
}

// Returns the text of an element of a run, such as a tab or a line break; empty for elements without text.
std::string text_of_run_part(const pugi::xml_node& node, std::string_view name)
{
    if (name == "t") return text_of(node);
    if (name == "tab" || name == "ptab") return "\t";
    if (name == "br" || name == "cr") return "\n";
    if (name == "noBreakHyphen") return "\xE2\x80\x91";
    if (name == "sym") return "\xEF\xBF\xBD"; // a character that only its font explains
    return {};
}

class Walk {
public:
    Walk(DocxStyles& styles, const Notes& footnotes, const Notes& endnotes, OfficeWriter& writer)
        : styles_(styles), footnotes_(footnotes), endnotes_(endnotes), writer_(writer)
    {
    }

    void run(const pugi::xml_node& body)
    {
        walk_xml(
            body, [this](const pugi::xml_node& node) { return enter(node); },
            [this](const pugi::xml_node& node) { leave(node); });
    }
    bool has_other_files() const { return has_other_files_; } // that hold parts of the document

private:
    bool enter(const pugi::xml_node& node)
    {
        const std::string_view name = local_name(node);
        if (is_left_out(name) || (name == "r" && styles_.is_hidden(node))) return false;
        if (name == "tc" && continues_nothing(node)) return false;
        if (name == "txbxContent" && !open_.empty()) {
            boxes_.add(node);
            return false;
        }
        if (name == "p")
            begin_paragraph(node);
        else if (name == "altChunk" || name == "subDoc")
            has_other_files_ = true;
        else if (name == "footnoteReference")
            add_note(node, footnotes_);
        else if (name == "endnoteReference")
            add_note(node, endnotes_);
        else if (name == "tbl")
            writer_.begin_table(arranges_page(node));
        else if (name == "tc")
            writer_.begin_cell();
        else
            add(text_of_run_part(node, name));
        return name != "t";
    }

    void leave(const pugi::xml_node& node)
    {
        const std::string_view name = local_name(node);
        if (name == "p")
            end_paragraph();
        else if (name == "tr")
            writer_.end_row();
        else if (name == "tbl")
            writer_.end_table();
    }

    void begin_paragraph(const pugi::xml_node& node)
    {
        const pugi::xml_node properties = child_named(node, "pPr");
        Paragraph paragraph{.heading_level = styles_.heading_level(properties)};
        if (const auto numbering = styles_.numbering(properties)) {
            paragraph.list_level = numbering->depth + 1;
            // An empty paragraph is no item.
            if (!text_of(node).empty()) paragraph.marker = styles_.next_marker(*numbering);
            if (!paragraph.marker.empty())
                list_ = numbering->list; // a paragraph without a marker continues the item
            paragraph.list = list_;
        }
        open_.push_back(std::move(paragraph));
    }

    void end_paragraph()
    {
        if (open_.empty()) return;
        writer_.write(open_.back());
        open_.pop_back();
        if (open_.empty()) boxes_.walk([this](const pugi::xml_node& box) { run(box); });
    }

    void add(std::string_view text)
    {
        if (!open_.empty()) open_.back().text += text;
    }

    // The text of a note stands in its paragraphs.
    void add_note(const pugi::xml_node& reference, const Notes& notes)
    {
        const auto note = notes.find(std::string(attribute_named(reference, "id")));
        if (note == notes.end()) return;
        std::string text;
        walk_xml(
            note->second,
            [&](const pugi::xml_node& node) {
                const std::string_view name = local_name(node);
                if (is_left_out(name) || (name == "r" && styles_.is_hidden(node))) return false;
                if (name == "p" && !text.empty()) text += ' ';
                text += text_of_run_part(node, name);
                return name != "t";
            },
            [](const pugi::xml_node&) {});
        add(writer_.add_note(on_one_line(text)));
    }

    DocxStyles& styles_;
    const Notes& footnotes_;
    const Notes& endnotes_;
    OfficeWriter& writer_;
    std::vector<Paragraph> open_;
    AnchoredBoxes boxes_;
    std::string list_; // that the last item with a marker was in
    bool has_other_files_ = false;
};

void write_facts(ZipArchive& archive, TextWriter& writer)
{
    const std::string name = "docProps/core.xml";
    pugi::xml_document xml;
    load_optional_xml(archive.read(name), name, xml);
    const pugi::xml_node core = xml.document_element();
    writer.fact(DocumentFact::Title, text_of(child_named(core, "title")));
    writer.fact(DocumentFact::Author, text_of(child_named(core, "creator")));
    writer.fact(DocumentFact::Language, text_of(child_named(core, "language")));
}

} // namespace

bool is_docx(const ZipArchive& archive)
{
    return archive.has("[Content_Types].xml") && archive.has("_rels/.rels");
}

void parse_docx(ZipArchive& archive, TextWriter& writer)
{
    writer.begin("Word");
    const std::string name = Relations(archive, "").target("officeDocument", "word/document.xml");
    const Part document(archive, name);
    const pugi::xml_node body = child_named(document.root(), "body");
    if (!body)
        throw Problem{storage::DocumentProblem::Unsupported, Text("it is an Office file, but not a Word document"),
                      Text("save it as plain text or Markdown")};
    write_facts(archive, writer);
    const Relations relations(archive, name);
    const auto part = [&](std::string_view type) {
        return Part(archive, relations.target(type, std::string(type) + ".xml"));
    };
    const Part styles = part("styles"), numbering = part("numbering"), footnotes = part("footnotes"),
               endnotes = part("endnotes");
    DocxStyles known_styles(styles.root(), numbering.root());
    const Notes known_footnotes = footnotes.notes(), known_endnotes = endnotes.notes();
    OfficeWriter office(writer);
    Walk walk(known_styles, known_footnotes, known_endnotes, office);
    walk.run(body);
    if (walk.has_other_files())
        writer.note(Text("parts of the document that are stored as files of their own in it are left out"));
}

} // namespace palimpsest::reader
