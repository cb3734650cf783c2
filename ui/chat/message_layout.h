// Layout of one message: the blocks of its segments, each laid out when it first comes into view.
//
// Heights of blocks not laid out yet are estimates, so opening a message takes time linear in its segments. While a
// message grows, unchanged blocks keep their layout. Not a widget; coordinates are pixels from the message's top
// left.
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

struct LaidBlock;
struct LaidPart;

struct TextPosition {
    size_t segment = 0, block = 0;
    int offset = 0; // in text_of(block), in UTF-16 units
    // NOLINTNEXTLINE(modernize-use-nullptr): no pointer here
    auto operator<=>(const TextPosition&) const = default;
};

struct TextSelection {
    TextPosition from, to; // from <= to
};

class MessageLayout {
public:
    MessageLayout();
    ~MessageLayout();
    MessageLayout(MessageLayout&&) noexcept;
    MessageLayout& operator=(MessageLayout&&) noexcept;

    void set_text(const QString& text, Message::Format format);
    // `style` must outlive this object. Discards all layouts.
    void set_geometry(const MessageStyle& style, int width);

    const Message& message() const { return message_; }
    int height() const { return tops_.back(); }
    // Lays out the blocks between `top` and `bottom`, at least one, until the deadline. Returns whether all of them
    // are done; `moved` is the distance by which content at or below `top` moved down.
    bool lay_out(int top, int bottom, const QDeadlineTimer& until, int* moved);
    // Drops the layouts of parts more than `reach` pixels outside of that range; the parts keep their heights.
    void release(int top, int bottom, int reach);
    void paint(QPainter& painter, int top, int bottom, const TextSelection* selection) const;
    // Returns the end of the last character, for the cursor of a growing answer; none if it is not laid out.
    std::optional<QRectF> end_rect() const;

    enum class Button { None, CopyCode, ShowAll };
    struct Spot {
        TextPosition place;
        QString link;
        Button button = Button::None;
        bool on_text = false;
    };
    Spot spot_at(const QPointF& at) const;
    void press(const Spot& spot); // handles ShowAll; ignores other buttons
    QString code_at(const TextPosition& place) const;

    TextPosition begin() const { return {}; }
    TextPosition end() const;
    // text_between and source_between also parse segments not parsed yet. Linear in the text between the places.
    QString text_between(const TextPosition& from, const TextPosition& to) const;
    QString source_between(const TextPosition& from, const TextPosition& to) const; // whole source lines
    TextSelection word_at(const TextPosition& place) const;

    // For menus: the links and places in segments that are already parsed.
    QStringList links() const;
    std::vector<TextPosition> code_places() const;
    std::vector<TextPosition> collapsed_places() const;

    uint64_t layouts_made() const { return layouts_made_; } // blocks laid out so far

private:
    // ---- stacking of blocks (message_layout.cpp)
    void refresh(size_t first);
    void parse(size_t part);
    void place_blocks(size_t part);
    int estimated_height(const Block& block) const;
    int estimated_height(const Segment& segment) const;
    bool is_hidden(size_t part, size_t block) const;
    bool is_hidden_part(size_t part) const;
    // Returns how many lines the whole text has if a "show all" button belongs below this block, else 0.
    int more_lines(size_t part, size_t block) const;
    int row_height() const;
    int gap_before(const LaidPart& part, size_t block) const;
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
    bool reads_leftwards(size_t part, size_t block) const;

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
    std::vector<LaidPart> parts_;
    std::vector<int> tops_{0};                     // y of each part, then of the end
    std::vector<int> group_sizes_;                 // number of parts in the group that begins with each part
    std::set<std::pair<size_t, size_t>> expanded_; // part and block where each expanded text begins
    uint64_t layouts_made_ = 0;
};

} // namespace palimpsest::ui
