// A message as segments that are parsed one by one, so that a growing answer costs what is new in it.
//
// A segment ends where a blank line stands before a line that begins something new, and around fenced code. Each is
// parsed alone: what a segment is depends on the text up to its end, so a text that grows gives at every moment the
// blocks that it gives at once. Link definitions reach as far as their segment.
#pragma once

#include <QString>
#include <vector>

#include "ui/chat/markdown.h"

namespace palimpsest::ui {

struct Segment {
    enum class Kind { Markdown, Code, Plain };
    Kind kind = Kind::Markdown;
    qsizetype begin = 0, end = 0; // of the text, in UTF-16 units; whole lines, but for pieces of very long ones
    int lines = 0;
    int group = -1;                    // of pieces of one code or plain text: the first one's number
    bool opens = false, shuts = false; // code: its first or last line is a fence
    bool operator==(const Segment&) const = default;
};

class Message {
public:
    enum class Format { Markdown, Plain };

    // Linear in what is new where `text` begins as the former one did.
    void set_text(const QString& text, Format format);
    const QString& text() const { return text_; }
    const std::vector<Segment>& segments() const { return segments_; }
    // Segments before this one are as they were before the last set_text.
    size_t first_changed() const { return first_changed_; }

    std::vector<Block> blocks(size_t segment) const; // parses it
    // The lines of the source that a block of that segment comes from.
    QString source_of(size_t segment, int first_line, int last_line) const;
    // What a code or plain text holds, all its pieces and no fence.
    QString text_of_group(int group) const;

private:
    // Where the scan stands after a whole line.
    struct Scan {
        qsizetype next = 0; // the first unit that was not looked at
        bool open = false;  // a segment is
        Segment segment;
        bool blank_before = false;
        QChar fence; // of the code that is open
        int fence_length = 0;
        QChar inner_fence; // of code within a list, which no segment ends in
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
    Scan solid_;             // after the last whole line
    size_t solid_count_ = 0; // of segments that it ended
    size_t first_changed_ = 0;
};

} // namespace palimpsest::ui
