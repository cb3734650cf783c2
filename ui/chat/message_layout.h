// A message on pixels: the blocks of its segments, each laid out when it is first to be seen.
//
// Heights of what was not seen yet are estimated, so opening a message costs its number of segments and no more.
// While a message grows, blocks that are as they were keep their layout. Not a widget; coordinates are pixels from
// the message's top left.
#pragma once

#include <QDeadlineTimer>
#include <QTextLayout>
#include <compare>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "ui/chat/message.h"
#include "ui/chat/message_style.h"

class QPainter;

namespace palimpsest::ui {

struct TextPlace {
    size_t segment = 0, block = 0;
    int offset = 0; // UTF-16 units of the block's text_of()
    auto operator<=>(const TextPlace&) const = default;
};

struct TextSelection {
    TextPlace from, to; // from <= to
};

class MessageLayout {
public:
    MessageLayout();
    ~MessageLayout();
    MessageLayout(MessageLayout&&) noexcept;
    MessageLayout& operator=(MessageLayout&&) noexcept;

    void set_text(const QString& text, Message::Format format);
    // `style` outlives this. Everything is laid out anew.
    void set_geometry(const MessageStyle& style, int width);

    const Message& message() const { return message_; }
    int height() const { return tops_.back(); }
    // Lays out what is between `top` and `bottom`, one block at least. Returns whether all of that is done; `moved`
    // is by how much what begins at `top` or below went down.
    bool lay_out(int top, int bottom, const QDeadlineTimer& until, int* moved);
    // Blocks farther from there than `reach` forget their layout and keep their height.
    void release(int top, int bottom, int reach);
    void paint(QPainter& painter, int top, int bottom, const TextSelection* selection) const;
    // Where the last character ends, for the cursor of a growing answer; none if it is not laid out.
    std::optional<QRectF> end_rect() const;

    enum class Button { None, CopyCode, ShowAll };
    struct Spot {
        TextPlace place;
        QString link;
        Button button = Button::None;
        bool on_text = false;
    };
    Spot spot_at(const QPointF& at) const;
    void press(const Spot& spot); // a button that is the message's own: ShowAll
    QString code_at(const TextPlace& place) const;

    TextPlace begin() const { return {}; }
    TextPlace end() const;
    // Parses what was not seen yet; linear in what is between.
    QString text_between(const TextPlace& from, const TextPlace& to) const;
    QString source_between(const TextPlace& from, const TextPlace& to) const; // whole lines of the source
    TextSelection word_at(const TextPlace& place) const;

    // Of what was parsed: for menus.
    QStringList links() const;
    std::vector<TextPlace> code_places() const;
    std::vector<TextPlace> collapsed_places() const;

    uint64_t layouts_made() const { return layouts_made_; } // blocks that were laid out so far

private:
    struct Box;
    struct LaidBlock;
    struct Part;

    // ---- its blocks, one below the other (message_layout.cpp)
    void refresh(size_t first);
    void parse(size_t part);
    void place_blocks(size_t part);
    int estimated_height(const Block& block) const;
    int estimated_height(const Segment& segment) const;
    bool is_hidden(size_t part, size_t block) const;
    bool is_hidden_part(size_t part) const;
    int more_lines(size_t part, size_t block) const; // that a "show all" below this block would show
    int row_height() const;
    int gap_before(const Part& part, size_t block) const;
    void update_tops(size_t from);
    size_t part_at(int y) const;

    // ---- one block (block_layout.cpp)
    void lay(size_t part, size_t block);
    void lay_inline(LaidBlock& laid, const InlineText& text, const QFont& font, double x, double y, double width,
                    Qt::Alignment alignment, int start);
    void lay_table(LaidBlock& laid, double x, double width);
    void lay_code(LaidBlock& laid, double x, double width);
    std::vector<QTextLayout::FormatRange> formats(const Block& block, const InlineText& text) const;
    double indent_of(const Block& block) const;

    // ---- painting (message_painting.cpp)
    void paint_block(QPainter& painter, size_t part, size_t block, double y, const TextSelection* selection) const;
    void paint_around(QPainter& painter, const LaidBlock& laid, double y) const;
    void paint_frame(QPainter& painter, const LaidBlock& laid, double y) const;
    QRectF copy_rect(const LaidBlock& laid) const;

    // ---- text (message_text.cpp)
    std::vector<Block> blocks_of(size_t part) const;

    Message message_;
    const MessageStyle* style_ = nullptr;
    int width_ = 0;
    std::vector<Part> parts_;
    std::vector<int> tops_{0};                     // of the parts, and the end
    std::vector<int> group_sizes_;                 // of each part's group, in parts; of none 0
    std::set<std::pair<size_t, size_t>> expanded_; // first piece of what is shown whole
    uint64_t layouts_made_ = 0;
};

} // namespace palimpsest::ui
