#include "app/reader/html_text.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "app/reader/charset.h"
#include "app/reader/list_numbers.h"
#include "app/reader/number.h"

namespace palimpsest::reader {
namespace {

using Names = std::initializer_list<std::string_view>;

bool is_one_of(std::string_view name, Names names)
{
    return std::ranges::find(names, name) != names.end();
}

// Elements whose contents are not text of the document.
bool is_never_text(std::string_view name)
{
    return is_one_of(name, {"head", "script", "style", "template", "noscript", "iframe", "object", "svg", "button",
                            "select", "textarea", "input", "audio", "video", "canvas", "rp"});
}

bool is_block(std::string_view name)
{
    return is_one_of(name,
                     {"address", "article", "aside", "blockquote", "body",    "caption",  "center",     "dd",
                      "details", "dialog",  "div",   "dl",         "dt",      "fieldset", "figcaption", "figure",
                      "footer",  "form",    "h1",    "h2",         "h3",      "h4",       "h5",         "h6",
                      "header",  "hgroup",  "hr",    "html",       "legend",  "li",       "main",       "menu",
                      "nav",     "ol",      "p",     "pre",        "section", "summary",  "table",      "tbody",
                      "td",      "tfoot",   "th",    "thead",      "tr",      "ul"});
}

bool is_hidden(const GumboNode& node)
{
    if (gumbo_get_attribute(&node.v.element.attributes, "hidden")) return true;
    std::string style(attribute(node, "style"));
    std::erase_if(style, [](char c) { return c == ' '; });
    return style.find("display:none") != style.npos;
}

bool has_type(const GumboNode& node, std::string_view type)
{
    for (const char* name : {"epub:type", "role"}) {
        std::string_view value = attribute(node, name);
        for (size_t at = value.find(type); at != value.npos; at = value.find(type, at + 1)) {
            const bool begins = at == 0 || value[at - 1] == ' ' || value[at - 1] == '-';
            const size_t end = at + type.size();
            if (begins && (end == value.size() || value[end] == ' ')) return true;
        }
    }
    return false;
}

// Calls `visit(node)` for the node and what it contains, in order; what is in a node is left out where it returns
// false. There are at most 256 levels.
template<class Visit>
void for_each_node(const GumboNode& root, const Visit& visit)
{
    std::vector<const GumboNode*> open{&root};
    while (!open.empty()) {
        const GumboNode& node = *open.back();
        open.pop_back();
        if (!visit(node) || !is_element(node)) continue;
        const GumboVector& nodes = children(node);
        for (unsigned i = nodes.length; i > 0; --i)
            open.push_back(static_cast<const GumboNode*>(nodes.data[i - 1]));
    }
}

std::string text_in(const GumboNode& root)
{
    std::string text;
    for_each_node(root, [&](const GumboNode& node) {
        if (node.type == GUMBO_NODE_TEXT || node.type == GUMBO_NODE_WHITESPACE || node.type == GUMBO_NODE_CDATA)
            text += node.v.text.text;
        return true;
    });
    return on_one_line(text);
}

bool has_class(const GumboNode& node, std::string_view name)
{
    return (" " + std::string(attribute(node, "class")) + " ").find(" " + std::string(name) + " ") !=
           std::string::npos;
}

bool is_number(std::string_view text)
{
    return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

const GumboNode* only_child(const GumboNode& node)
{
    const GumboVector& nodes = children(node);
    return nodes.length == 1 ? static_cast<const GumboNode*>(nodes.data[0]) : nullptr;
}

// Whether the element is all of a superscript, or a superscript is all of it.
bool is_raised(const GumboNode& node)
{
    const auto is_superscript = [](const GumboNode* of) {
        return of && is_element(*of) && element_name(*of) == "sup";
    };
    return is_superscript(only_child(node)) || (is_superscript(node.parent) && only_child(*node.parent) == &node);
}

bool leads_to_place(const GumboNode& link)
{
    return attribute(link, "href").find('#') != std::string_view::npos;
}

// A link to a note, which would run into the word before it: "north1". `begins_text`: no word is before it, so that
// a link may be the number of the note itself.
bool is_note_mark(const GumboNode& node, bool begins_text)
{
    if (element_name(node) != "a") return false;
    const std::string text = text_in(node);
    if (text.empty() || text.front() < '0' || text.front() > '9') return false;
    if (has_type(node, "noteref") || has_class(node, "footnote-ref") || has_class(node, "noteref")) return true;
    return !begins_text && is_number(text) && is_raised(node) && leads_to_place(node);
}

bool is_note(const GumboNode& node)
{
    return has_type(node, "footnote") || has_type(node, "endnote") || has_class(node, "footnote");
}

// A link from a note back to the text, or from a heading to itself.
bool is_back_link(const GumboNode& node)
{
    if (element_name(node) != "a") return false;
    if (has_class(node, "headerlink")) return true;
    if (!has_type(node, "backlink") && !has_class(node, "footnote-back")) return false;
    const std::string text = text_in(node); // some programs make the number of the note the link
    return text.empty() || text.front() < '0' || text.front() > '9';
}

// Navigation, side columns and footers of a web page.
bool is_around_text(const GumboNode& node)
{
    const std::string_view role = attribute(node, "role"), name = element_name(node);
    const bool has_notes =
        name == "aside" && (is_note(node) || has_type(node, "endnotes") || has_class(node, "footnote-list"));
    const bool is_footer = name == "div" && (attribute(node, "id") == "footer" || has_class(node, "footer"));
    return (is_one_of(name, {"nav", "footer", "aside"}) && !has_notes) || is_footer ||
           is_one_of(role, {"navigation", "banner", "contentinfo", "complementary", "search"});
}

int heading_level_of(std::string_view name)
{
    return name.size() == 2 && name[0] == 'h' && name[1] >= '1' && name[1] <= '6' ? name[1] - '0' : 0;
}

// Whether the table arranges a page, rather than facts: its cells hold what a cell of facts does not.
bool is_layout(const GumboNode& table)
{
    bool found = false;
    size_t blocks = 0;
    for_each_node(table, [&](const GumboNode& node) {
        if (!is_element(node) || found) return !found;
        const std::string_view name = element_name(node);
        if (name == "td" || name == "th") blocks = 0;
        blocks += name == "p" || name == "div";
        found = &node != &table && (blocks > 1 || heading_level_of(name) > 0 || name == "table");
        return !found;
    });
    return found;
}

// Walks through a tree and writes its blocks.
class Walk {
public:
    Walk(const HtmlOptions& options, TextWriter& writer) : options_(options), writer_(writer)
    {
        if (!options.first_section.title.empty()) waiting_section_ = options.first_section;
    }

    void run(const GumboNode& root)
    {
        enter(root);
        while (!open_.empty()) {
            Open& top = open_.back();
            const GumboVector& nodes = children(*top.node);
            if (top.next == nodes.length) {
                leave(top);
                open_.pop_back();
            } else {
                enter(*static_cast<const GumboNode*>(nodes.data[top.next++]));
            }
        }
        end_block();
        write_pages();
    }
    bool wrote_text() const { return wrote_text_; }
    bool left_text_out() const { return left_text_out_; }

private:
    struct Open {
        const GumboNode* node;
        unsigned next = 0; // child
        bool is_note_mark = false, begins_text = false, is_note = false;
        // As docutils writes verse: lines, and in them lines that are indented.
        bool has_lines = false, is_in_verse = false;
    };
    struct List {
        NumberStyle style = NumberStyle::Bullet;
        int number = 1;
        bool is_implied = false; // by an item outside any list
    };

    void enter(const GumboNode& node)
    {
        if (node.type == GUMBO_NODE_TEXT || node.type == GUMBO_NODE_WHITESPACE || node.type == GUMBO_NODE_CDATA)
            return add_text(node.v.text.text);
        if (!is_element(node) || is_skipped(node)) return;
        begin_section(node);
        const std::string_view name = element_name(node);
        const bool has_lines = has_class(node, "line-block");
        const bool is_in_verse = !open_.empty() && open_.back().has_lines && (has_lines || has_class(node, "line"));
        if (name == "br") {
            trim_space();
            text_ += '\n';
        } else if (is_in_verse) {
            if (!has_lines) begin_verse_line();
        } else if (is_block(name)) {
            begin_block(node, name);
        } else if (name == "rt") {
            text_ += '(';
        }
        if (has_type(node, "pagebreak")) add_page(node);
        const bool begins_text = text_.empty(), is_mark = is_note_mark(node, begins_text);
        if (is_mark) text_ += '[';
        open_.push_back({.node = &node,
                         .is_note_mark = is_mark,
                         .begins_text = begins_text,
                         .is_note = is_note(node),
                         .has_lines = has_lines,
                         .is_in_verse = is_in_verse});
    }

    void leave(const Open& open)
    {
        const GumboNode& node = *open.node;
        const std::string_view name = element_name(node);
        if (name == "rt") text_ += ')';
        if (open.is_note_mark) text_ += ']';
        if (name == "a" && open.begins_text) after_number_ = is_number(text_) && leads_to_place(node);
        if (!is_block(name) || open.is_in_verse) return;
        end_block();
        if (heading_level_of(name) > 0) heading_level_ = 0;
        if (name == "pre") --preformatted_;
        if (name == "ol" || name == "ul" || name == "menu") end_list();
        if (name == "li") marker_.clear();
        if (name == "li" && !lists_.empty() && lists_.back().is_implied) end_list();
        if (name == "tr") end_row();
        if (name == "table") end_table();
    }

    bool is_skipped(const GumboNode& node)
    {
        const std::string_view name = element_name(node);
        if (is_never_text(name) || is_hidden(node) || is_back_link(node)) return true;
        if (options_.without_navigation && name == "nav") return true;
        if (!options_.main_text_only || !is_around_text(node)) return false;
        left_text_out_ = left_text_out_ || !text_in(node).empty();
        return true;
    }

    void begin_section(const GumboNode& node)
    {
        if (!options_.sections) return;
        for (const char* name : {"id", "name"}) {
            const auto found = options_.sections->find(std::string(attribute(node, name)));
            if (found == options_.sections->end()) continue;
            if (is_block(element_name(node))) end_block();
            waiting_section_ = found->second;
            return;
        }
    }

    void begin_block(const GumboNode& node, std::string_view name)
    {
        if (follows_note_label(name)) {
            if (!text_.ends_with(' ')) text_ += ' ';
            return;
        }
        const bool ends_heading = !text_.empty(); // a block after its text is no part of it
        end_block();
        if (ends_heading) heading_level_ = 0;
        if (const int level = heading_level_of(name)) heading_level_ = level;
        if (name == "pre") ++preformatted_;
        if (name == "ol" || name == "ul" || name == "menu") lists_.push_back(list(node, name));
        if (name == "li") begin_item(node);
        if (name == "table") begin_table(node);
        if (in_table_of_facts() && (name == "td" || name == "th")) cells_.emplace_back();
    }

    // Whether the paragraph is the first of a note, after its number: "[1]".
    bool follows_note_label(std::string_view name) const
    {
        constexpr size_t longest = 8; // bytes
        return (name == "p" || name == "div") && !text_.empty() && text_.size() <= longest &&
               text_.find_first_of("0123456789") != text_.npos && !open_.empty() && open_.back().is_note;
    }

    void begin_verse_line()
    {
        trim_space();
        if (!text_.empty()) text_ += '\n';
        for (size_t i = open_.size() - 1; i > 0 && open_[i - 1].has_lines; --i)
            text_ += "  ";
    }

    List list(const GumboNode& node, std::string_view name) const
    {
        if (name != "ol") return {};
        return {.style = style_of(node), .number = number_in(attribute(node, "start"), 1)};
    }

    NumberStyle style_of(const GumboNode& node) const
    {
        if (const auto style = letter_style_in(attribute(node, "style"))) return *style;
        const std::string_view classes = attribute(node, "class"), type = attribute(node, "type");
        const auto of_class = options_.list_styles ? options_.list_styles->of(classes) : std::nullopt;
        if (of_class) return *of_class;
        // As docutils and Asciidoctor write them.
        if (has_class(node, "loweralpha")) return NumberStyle::LowerLetter;
        if (has_class(node, "upperalpha")) return NumberStyle::UpperLetter;
        if (has_class(node, "lowerroman")) return NumberStyle::LowerRoman;
        if (has_class(node, "upperroman")) return NumberStyle::UpperRoman;
        if (type == "a") return NumberStyle::LowerLetter;
        if (type == "A") return NumberStyle::UpperLetter;
        if (type == "i") return NumberStyle::LowerRoman;
        if (type == "I") return NumberStyle::UpperRoman;
        return NumberStyle::Arabic;
    }

    void begin_item(const GumboNode& node)
    {
        if (lists_.empty()) lists_.push_back({.is_implied = true});
        List& list = lists_.back();
        list.number = number_in(attribute(node, "value"), list.number);
        marker_ = list.style == NumberStyle::Bullet ? "- " : list_number(list.number++, list.style) + ". ";
    }

    void end_list()
    {
        if (!lists_.empty()) lists_.pop_back();
        if (lists_.empty()) writer_.gap();
    }

    bool in_table_of_facts() const { return !tables_.empty() && !tables_.back(); }

    void begin_table(const GumboNode& node)
    {
        // A table in a cell is part of that cell.
        tables_.push_back(!in_table_of_facts() && is_layout(node));
    }

    void end_row()
    {
        if (!in_table_of_facts() || cells_.empty()) return;
        std::string row;
        for (const std::string& cell : cells_)
            row.append(row.empty() && &cell == cells_.data() ? "" : " | ").append(cell);
        cells_.clear();
        const bool is_empty = row.find_first_not_of(" |") == row.npos;
        if (!is_empty) write_line(row);
    }

    void end_table()
    {
        end_row();
        if (!tables_.empty()) tables_.pop_back();
        writer_.gap();
    }

    void add_text(std::string_view text)
    {
        if (preformatted_ > 0) {
            text_ += text;
            return;
        }
        separate_number(text);
        for (const char c : text) {
            const bool is_space = c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f';
            if (!is_space)
                text_ += c;
            else if (!text_.empty() && text_.back() != ' ' && text_.back() != '\n')
                text_ += ' ';
        }
    }

    // A note may begin with its number, a link back to the text, right before its first word: "1The".
    void separate_number(std::string_view text)
    {
        if (!after_number_ || text.empty()) return;
        after_number_ = false;
        constexpr std::string_view no_break_space = "\xC2\xA0", no_words = " \t\n\r\f.,:;)]-";
        if (no_words.find(text.front()) == no_words.npos && !text.starts_with(no_break_space)) text_ += ' ';
    }

    void trim_space()
    {
        if (preformatted_ == 0 && text_.ends_with(' ')) text_.pop_back();
    }

    void add_page(const GumboNode& node)
    {
        std::string_view label = attribute(node, "title");
        if (label.empty()) label = attribute(node, "aria-label");
        pages_.push_back({text_.size(), label.empty() ? text_in(node) : std::string(label)});
    }

    // Ends the text that was collected, and writes it as what it is.
    void end_block()
    {
        while (!text_.empty() && (text_.back() == '\n' || (text_.back() == ' ' && preformatted_ == 0)))
            text_.pop_back();
        const size_t begin = std::min(text_.find_first_not_of('\n'), text_.size());
        std::string text = text_.substr(begin);
        text_.clear();
        after_number_ = false;
        if (text.empty()) return let_pages_wait();
        if (in_table_of_facts() && !cells_.empty()) {
            let_pages_wait();
            std::string& cell = cells_.back();
            cell += (cell.empty() ? "" : " ") + on_one_line(text);
        } else if (heading_level_ > 0) {
            write_heading(text);
        } else if (!lists_.empty()) {
            write_item(text);
        } else {
            write_block(text, begin);
        }
    }

    // Pages that began in text of which nothing is left, or in a cell, begin with the next text.
    void let_pages_wait()
    {
        for (PageMark& page : pages_)
            page.offset = 0;
    }

    void write_heading(const std::string& text)
    {
        // The table of contents knows the level of a section in the whole book.
        const int level = waiting_section_ ? waiting_section_->level : heading_level_;
        waiting_section_.reset();
        write_pages();
        writer_.heading(level, text);
        wrote_text_ = true;
    }

    void write_item(const std::string& text)
    {
        const std::string indent((lists_.size() - 1) * 2, ' ');
        const std::string rest = indent + std::string(marker_.empty() ? 2 : marker_.size(), ' ');
        write_line(with_indent(text, marker_.empty() ? rest : indent + marker_, rest));
        marker_.clear();
    }

    void write_line(const std::string& line)
    {
        write_section();
        write_pages();
        writer_.line(line);
        wrote_text_ = true;
    }

    // `cut`: bytes that were cut off at the beginning, from where pages are counted.
    void write_block(const std::string& text, size_t cut)
    {
        write_section();
        for (PageMark& page : pages_)
            page.offset -= std::min(page.offset, cut);
        writer_.block(text, pages_);
        pages_.clear();
        wrote_text_ = true;
    }

    void write_section()
    {
        if (waiting_section_) writer_.section(waiting_section_->level, waiting_section_->title);
        waiting_section_.reset();
    }

    void write_pages()
    {
        for (const PageMark& page : pages_)
            writer_.page(page.label);
        pages_.clear();
    }

    const HtmlOptions& options_;
    TextWriter& writer_;
    std::vector<Open> open_;
    std::string text_; // of the block that is open
    std::vector<PageMark> pages_;
    std::optional<SectionMark> waiting_section_; // begins with the next text
    int heading_level_ = 0;                      // of the heading that is open
    int preformatted_ = 0;                       // elements that are open
    bool after_number_ = false;                  // the block that is open is the number of a note so far
    std::vector<List> lists_;
    std::string marker_;             // of an item, for its first text
    std::vector<bool> tables_;       // that are open: whether they are for layout
    std::vector<std::string> cells_; // of the row that is open
    bool wrote_text_ = false, left_text_out_ = false;
};

const GumboNode* find_element(const GumboNode& root, std::string_view name)
{
    const GumboNode* found = nullptr;
    for_each_node(root, [&](const GumboNode& node) {
        if (!found && is_element(node) && element_name(node) == name) found = &node;
        return !found;
    });
    return found;
}

size_t main_text_bytes(const GumboNode& root)
{
    size_t bytes = 0;
    for_each_node(root, [&](const GumboNode& node) {
        if (node.type == GUMBO_NODE_TEXT) bytes += std::string_view(node.v.text.text).size();
        return !is_element(node) || (!is_never_text(element_name(node)) && !is_around_text(node));
    });
    return bytes;
}

// The element with the main text: the page says so, or it is an article with most of it.
const GumboNode* find_main(const GumboNode& root)
{
    std::vector<const GumboNode*> articles;
    const GumboNode* main = nullptr;
    for_each_node(root, [&](const GumboNode& node) {
        if (!is_element(node)) return false;
        const std::string_view name = element_name(node);
        if (!main && (name == "main" || attribute(node, "role") == "main")) main = &node;
        if (name == "article") articles.push_back(&node);
        return name != "article"; // an article in an article is a comment on it
    });
    if (main) return main;
    const bool is_one = articles.size() == 1 && 2 * main_text_bytes(*articles.front()) > main_text_bytes(root);
    return is_one ? articles.front() : nullptr;
}

CssListStyles list_styles_in(const GumboNode& root)
{
    CssListStyles styles;
    for_each_node(root, [&](const GumboNode& node) {
        if (is_element(node) && element_name(node) == "style") styles.read(text_in(node));
        return true;
    });
    return styles;
}

void write_facts(const GumboNode& root, TextWriter& writer)
{
    if (const GumboNode* title = find_element(root, "title"))
        writer.fact(storage::DocumentFact::Title, text_in(*title));
    for_each_node(root, [&](const GumboNode& node) {
        if (is_element(node) && element_name(node) == "meta" && attribute(node, "name") == "author")
            writer.fact(storage::DocumentFact::Author, attribute(node, "content"));
        return true;
    });
    writer.fact(storage::DocumentFact::Language, attribute(root, "lang"));
}

} // namespace

bool is_list_of_links(const HtmlTree& tree)
{
    constexpr size_t longest_title = 200; // bytes
    const auto text_bytes = [&](bool with_links) {
        size_t bytes = 0;
        for_each_node(tree.root(), [&](const GumboNode& node) {
            if (node.type == GUMBO_NODE_TEXT) bytes += on_one_line(node.v.text.text).size();
            if (!is_element(node)) return true;
            const std::string_view name = element_name(node);
            return !is_never_text(name) && !is_hidden(node) && (with_links || (name != "a" && name != "nav"));
        });
        return bytes;
    };
    const size_t title = text_bytes(false);
    return title <= longest_title && 2 * title <= text_bytes(true);
}

void write_html_text(const HtmlTree& tree, const HtmlOptions& options, TextWriter& writer)
{
    Walk(options, writer).run(tree.root());
}

std::vector<LinkInNav> links_in_nav(const HtmlTree& tree)
{
    const GumboNode* contents = nullptr;
    for_each_node(tree.root(), [&](const GumboNode& node) {
        if (!contents && is_element(node) && element_name(node) == "nav" && has_type(node, "toc")) contents = &node;
        return !contents;
    });
    std::vector<LinkInNav> links;
    if (!contents) return links;
    std::vector<std::pair<const GumboNode*, int>> open{{contents, 0}};
    while (!open.empty()) {
        const auto [node, level] = open.back();
        open.pop_back();
        if (!is_element(*node)) continue;
        const std::string_view name = element_name(*node);
        if (name == "a") {
            links.push_back({std::max(1, level), text_in(*node), std::string(attribute(*node, "href"))});
            continue;
        }
        const GumboVector& nodes = children(*node);
        for (unsigned i = nodes.length; i > 0; --i)
            open.emplace_back(static_cast<const GumboNode*>(nodes.data[i - 1]), level + (name == "ol"));
    }
    return links;
}

void parse_html(std::string_view bytes, TextWriter& writer)
{
    writer.begin("HTML");
    std::string text = decoded_text(bytes, declared_charset(bytes)).text;
    const std::string_view beginning = std::string_view(text).substr(0, 1024);
    const bool is_xml =
        beginning.starts_with("<?xml") || beginning.find("http://www.w3.org/1999/xhtml") != beginning.npos;
    const HtmlTree tree(is_xml ? xhtml_as_html(text) : std::move(text));
    write_facts(tree.root(), writer);
    const CssListStyles list_styles = list_styles_in(tree.root());
    const HtmlOptions main_text{.main_text_only = true, .list_styles = &list_styles};
    const GumboNode* const main = find_main(tree.root());
    Walk walk(main_text, writer);
    walk.run(main ? *main : tree.root());
    if (!walk.wrote_text()) { // all of it stands in what is usually around the text
        const HtmlOptions all{.list_styles = &list_styles};
        return Walk(all, writer).run(tree.root());
    }
    if (main || walk.left_text_out())
        writer.note(Text("only the main text of the page is read; what stands around it is left out"));
}

} // namespace palimpsest::reader
