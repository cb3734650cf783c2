// Parses Markdown into a list of safe blocks: no HTML, no images, no styles, nothing that loads.
//
// The text in blocks has passed visible_text(). Raw HTML is kept as text; an image becomes its alternative text and
// address; a link whose scheme is not https, http or mailto becomes its text and address.
#pragma once

#include <QString>
#include <QStringList>
#include <QStringView>
#include <cstdint>
#include <vector>

namespace palimpsest::ui {

enum class TextStyle : uint8_t { Bold = 1, Italic = 2, Code = 4, Struck = 8 };

// A range of an inline text with styles or a link.
struct Span {
    int start = 0, length = 0; // UTF-16 units
    uint8_t styles = 0;        // bitwise or of TextStyle
    int link = -1;             // index in Block::links; -1: none
    bool operator==(const Span&) const = default;
};

struct InlineText {
    QString text;
    std::vector<Span> spans; // ascending, not overlapping
    bool operator==(const InlineText&) const = default;
};

// A quote or list item that contains a block. An item has its marker only on its first block.
struct Around {
    bool quote = false; // false: list item
    QString marker;
    bool operator==(const Around&) const = default;
};

struct Block {
    enum class Kind { Paragraph, Heading, Code, Table, Rule, Note };
    Kind kind = Kind::Paragraph;
    int level = 0; // of a heading, 1 to 6
    std::vector<Around> around;
    std::vector<InlineText> texts; // one; tables: one per cell, row by row; rules: none
    int columns = 1;
    std::vector<Qt::Alignment> alignments; // per column
    std::vector<int> widths;               // longest text per column of the whole table, in characters
    bool first = true, last = true;        // whether this is the first or last piece of a long block
    bool joins = false;                    // this piece continues the last line of the previous piece
    bool close = false;                    // little space above, as between the items of a tight list
    bool heads = false;                    // the first row of this table piece is the header
    QString language;                      // of code, as its opening fence names it
    QStringList links;                     // addresses
    int first_line = 0, last_line = 0;     // in the source, from 0
    bool operator==(const Block&) const = default;
};

struct MarkdownLimits {
    int depth = 32; // of nested quotes and lists
    int blocks = 2000;
    int cells = 10000;
    int columns = 16;
    int links = 500;
    int address = 2048;   // UTF-16 units
    int piece = 4096;     // UTF-16 units per block; longer ones are cut at a space
    int piece_lines = 50; // lines of code per block
    int piece_cells = 240;
};

// Never throws, whatever the input. If a limit is exceeded, returns all of `source` as plain text below a note.
std::vector<Block> parse_markdown(QStringView source, const MarkdownLimits& limits = {});

// Returns `source` as plain text, cut into pieces. REQUIRES: `kind` is Paragraph or Code.
std::vector<Block> plain_blocks(QStringView source, Block::Kind kind, const MarkdownLimits& limits = {});

// Returns a block with a sentence of the program, which is shown above plain text.
Block note_block(const QString& sentence);

// Returns the text for copying: table rows as lines, cells separated by tabs.
QString text_of(const Block& block);
int length_of(const Block& block); // of text_of(block), in UTF-16 units

// Returns where to cut a text longer than `limit`: after a nearby space if there is one, never inside a character.
qsizetype cut_point(QStringView text, qsizetype limit);

} // namespace palimpsest::ui
