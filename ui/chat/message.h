// Splits a message into segments that are parsed one by one, so that a growing answer costs only its new text.
//
// Fenced code is a segment; other segments end, if they are long enough, at a blank line before a line that is
// neither indented nor a list item. Segments are parsed separately and depend only on the text up to their end, so
// that a growing text yields the same blocks as the same text set at once. Link definitions apply only within their
// segment.
#pragma once

#include <QString>
#include <vector>

#include "ui/chat/markdown.h"

namespace palimpsest::ui {

struct Segment {
    enum class Kind { Markdown, Code, Plain };
    Kind kind = Kind::Markdown;
    qsizetype begin = 0, end = 0; // in the text, UTF-16 units; whole lines, except pieces of very long ones
    int lines = 0;
    int group = -1;                    // segment with the first piece of the same code or plain text; -1: Markdown
    bool opens = false, shuts = false; // code: the first or last line is a fence
    bool operator==(const Segment&) const = default;
};

class Message {
public:
    enum class Format { Markdown, Plain };

    // Linear in the new text if `text` starts with the previous one.
    void set_text(const QString& text, Format format);
    const QString& text() const { return text_; }
    const std::vector<Segment>& segments() const { return segments_; }
    // Segments before this one did not change in the last set_text.
    size_t first_changed() const { return first_changed_; }

    std::vector<Block> blocks(size_t segment) const; // parses the segment
    // Returns source lines of a segment, numbered like Block::first_line.
    QString source_of(size_t segment, int first_line, int last_line) const;
    // Returns the content of all pieces of a code block or plain text, without fences.
    QString text_of_group(int group) const;

private:
    // State of the scan at the end of a line.
    struct Scan {
        qsizetype next = 0; // first unit not scanned yet
        bool open = false;  // whether `segment` is open
        Segment segment;
        bool blank_before = false;
        QChar fence; // of the open code segment
        int fence_length = 0;
        QChar inner_fence; // of an open indented fence, as in a list; no segment ends before it closes
        int inner_length = 0;
    };

    void scan_lines(Scan& scan, qsizetype end);
    void scan_line(Scan& scan, qsizetype begin, qsizetype end, qsizetype next);
    void scan_code_line(Scan& scan, qsizetype begin, qsizetype end, qsizetype next);
    void scan_piece_line(Scan& scan, qsizetype begin, qsizetype next);
    bool begins_anew(const Scan& scan, QStringView line) const;
    void open_segment(Scan& scan, Segment::Kind kind, qsizetype begin, int group);
    void end_segment(Scan& scan, qsizetype end);
    QStringView content(const Segment& segment) const;

    QString text_;
    Format format_ = Format::Markdown;
    std::vector<Segment> segments_;
    Scan solid_;             // state after the last complete line
    size_t solid_count_ = 0; // segments that were complete then
    size_t first_changed_ = 0;
};

} // namespace palimpsest::ui
