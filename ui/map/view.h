// The retained-token map on the screen: live, zoomed around the cursor, with a crosshair that the keyboard moves
// too.
//
// A map is painted when it is wanted, at most 30 times a second, however often it changes. Memory is that of the
// pixels; the maps themselves belong to their makers, and the view shares them.
#pragma once

#include <QAbstractScrollArea>
#include <QElapsedTimer>
#include <QImage>
#include <QTimer>
#include <functional>
#include <memory>
#include <optional>

#include "ui/map/export.h"
#include "ui/map/painter.h"
#include "ui/map/place.h"
#include "ui/map/scene.h"

class QAction;
class QLabel;

namespace palimpsest::ui {

class MapTableWindow;
class RetentionTable;

class RetentionView : public QAbstractScrollArea {
    Q_OBJECT
public:
    // More about a token: its text, page, section, its score under the policy. One line, may be empty.
    using Describe = std::function<QString(uint64_t token)>;

    explicit RetentionView(QWidget* parent = nullptr);
    ~RetentionView() override;

    // `length`: tokens of the stream when all is read, 0 where that is not known. The same layers and heads keep
    // what is expanded; while the whole stream is shown, it stays the whole. Null: nothing is open.
    void set_map(std::shared_ptr<const engine::RetentionMap> map, uint64_t length = 0);
    void set_marks(MapMarks marks);                        // sections and pins; highlights as well
    void set_highlights(std::vector<StreamRange> sources); // of an answer; empty: none
    void set_title(const QString& title);                  // of exported pictures
    void set_compact(bool compact); // without legend and readout: what is pointed at, its tool tip says
    void set_describe(Describe describe);
    void set_writers(MapWriters writers); // of CSV and JSON; without one the format is not offered

    const MapScene& scene() const { return scene_; }
    const std::optional<MapPlace>& place() const { return place_; } // of the crosshair
    QString place_text() const;                                     // all that is known of it, for people
    RetentionTable& table();                                        // as of now
    uint64_t frames_painted() const { return frames_; }             // pictures made, not events obeyed
    bool is_current() const { return !out_of_date_; }               // the picture shows what was set
    MapLayout layout_now() const;

    void show_tokens(StreamRange range);         // zooms so that it is seen with what surrounds it
    void show_window(double first, double last); // in tokens, as a map beside this one does
    void move_to(uint64_t token);                // the crosshair, on the row it is on
    void set_expanded(int32_t layer, bool expanded);
    void zoom(double factor);          // around the crosshair, else around the middle
    void save_as(const QString& file); // what is shown now, on another thread; export_ended tells the end
    // Once, in place of its own, by what may outlive the view; its `ended` tells the end then.
    void write_with(FileWriter& files);

public Q_SLOTS:
    void reset_zoom();
    void expand_all();
    void collapse_all();
    void show_table();
    void choose_export(); // asks for a file

Q_SIGNALS:
    void token_activated(quint64 token);                         // clicked, or chosen with Space
    void range_wanted(const palimpsest::ui::StreamRange& range); // drawn with Shift
    void place_changed();
    void window_changed(double first, double last); // the tokens that are shown, whatever moved them
    void export_ended(const QString& file, const QString& trouble); // a sentence if it was not written, else empty

protected:
    bool viewportEvent(QEvent* event) override;
    bool event(QEvent* event) override;
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void scrollContentsBy(int dx, int dy) override;
    void changeEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void contextMenuEvent(QContextMenuEvent* event) override;
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

private:
    struct Drag {
        QPointF from;
        MapWindow window;
        int scroll = 0;
        std::optional<uint64_t> selects_from; // with Shift
        bool moved = false;
    };

    void make_actions();
    QAction* add(const QString& text, const QKeySequence& key, void (RetentionView::*slot)());
    void repaint_later(); // the picture is out of date
    void tell_window();
    void render();
    void arrange(); // scroll bar and readout
    void refresh_table();
    void paint_empty(QPainter& painter) const;
    TokenColumns columns() const;
    QString cell_text() const;
    void show_readout();

    void set_place(std::optional<MapPlace> place);
    void update_crosshair();
    std::optional<MapPlace> place_at(const QPointF& at) const;
    void renew_place();
    void start_place(); // where the keyboard begins
    void move_columns(int columns);
    void move_rows(int rows);
    void toggle_layer();
    void activate_token();
    void extend_selection(int columns);
    void select(uint64_t from, uint64_t to);
    bool navigate(const QKeyEvent& event);
    void drag_to(const QPointF& at);
    void tell_place(const QPoint& at);

    MapScene scene_; // without a title: the dock has one
    QString title_;
    Describe describe_;
    MapWriters writers_;
    std::optional<MapPlace> place_;
    bool placed_by_mouse_ = false;
    std::optional<uint64_t> selection_anchor_;
    std::optional<Drag> drag_;

    QImage picture_; // of the viewport, without the crosshair
    bool out_of_date_ = true;
    QTimer later_;
    QElapsedTimer since_painted_;
    uint64_t frames_ = 0;
    std::pair<double, double> told_window_;

    QLabel* readout_;
    QAction *reset_action_, *expand_action_, *collapse_action_, *token_action_, *table_action_, *export_action_;
    std::unique_ptr<RetentionTable> table_;
    FileWriter* files_ = new FileWriter(this);
    MapTableWindow* table_window_ = nullptr; // a child
};

} // namespace palimpsest::ui
