// Markdown as a short list of safe blocks: no HTML, no images, no styles, nothing that loads.
//
// What a block holds is text that visible_text() has made honest. Raw HTML is text; an image is its alternative
// text and its address; a link whose scheme is not https, http or mailto is its text and its address.
#pragma once

#include <QString>
#include <QStringList>
#include <QStringView>
#include <cstdint>
#include <vector>

namespace palimpsest::ui {

enum class TextStyle : uint8_t { Bold = 1, Italic = 2, Code = 4, Struck = 8 };

// A stretch of an inline text that is not plain.
struct Span {
    int start = 0, length = 0; // UTF-16 units
    uint8_t styles = 0;        // of TextStyle, or-ed
    int link = -1;             // of Block::links
    bool operator==(const Span&) const = default;
};

struct InlineText {
    QString text;
    std::vector<Span> spans; // ascending, not overlapping
    bool operator==(const InlineText&) const = default;
};

// What a block lies in, the outermost first. An item has its marker at its first block only.
struct Around {
    bool quote = false; // else a list item
    QString marker;
    bool operator==(const Around&) const = default;
};

struct Block {
    enum class Kind { Paragraph, Heading, Code, Table, Rule, Note };
    Kind kind = Kind::Paragraph;
    int level = 0; // of a heading, 1 to 6
    std::vector<Around> around;
    std::vector<InlineText> texts; // one; of a table one per cell, row by row; of a rule none
    int columns = 1;
    std::vector<Qt::Alignment> alignments; // of the columns
    std::vector<int> widths;               // of the columns of the whole table, in characters
    bool first = true, last = true;        // piece of what was cut to be laid out piece by piece
    bool joins = false;                    // goes on in the middle of a line of the piece before
    bool close = false;                    // to what came before it, as the items of a tight list are
    bool heads = false;                    // the first row of this table piece is its head
    QString language;                      // of code, as it says itself
    QStringList links;                     // addresses
    int first_line = 0, last_line = 0;     // of the source, from 0
    bool operator==(const Block&) const = default;
};

struct MarkdownLimits {
    int depth = 32; // of quotes and lists
    int blocks = 2000;
    int cells = 10000;
    int columns = 16;
    int links = 500;
    int address = 2048;   // UTF-16 units
    int piece = 4096;     // UTF-16 units of one block; longer ones are cut at a space
    int piece_lines = 50; // of code
    int piece_cells = 240;
};

// Never throws for its input. Beyond a limit all of `source` comes as plain text, under a note that says so.
std::vector<Block> parse_markdown(QStringView source, const MarkdownLimits& limits = {});

// As it stands, a paragraph of pieces; `kind`: Paragraph or Code.
std::vector<Block> plain_blocks(QStringView source, Block::Kind kind, const MarkdownLimits& limits = {});

// The sentence over what is shown as plain text.
Block note_block(const QString& sentence);

// What copying gives: rows as lines, cells between tabs.
QString text_of(const Block& block);
int length_of(const Block& block); // of that, in UTF-16 units

// Where a text longer than `limit` is cut: after a space near it where there is one, never within a character.
qsizetype cut_point(QStringView text, qsizetype limit);

} // namespace palimpsest::ui
