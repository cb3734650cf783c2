// The retained-token map on screen: follows the session, zooms around the cursor, and has a crosshair for mouse and
// keyboard.
//
// Repaints at most 30 times a second, however often the map changes. Memory: one image of the viewport; maps are
// not copied.
#pragma once

#include <QAbstractScrollArea>
#include <QImage>
#include <functional>
#include <memory>
#include <optional>

#include "ui/map/exporter.h"
#include "ui/map/frame_pacer.h"
#include "ui/map/grid.h"
#include "ui/map/scene.h"

namespace palimpsest::ui {

class MapActions;
class MapReadout;
class MapTableWindow;

class RetentionView : public QAbstractScrollArea {
    Q_OBJECT
public:
    // Returns further facts about a token that the map lacks, such as its text. One line, may be empty.
    using Describe = std::function<QString(uint64_t token)>;

    explicit RetentionView(QWidget* parent = nullptr);
    ~RetentionView() override;

    // `length`: tokens of the whole stream, 0 if unknown. Expanded layers stay expanded while layers and heads are
    // the same, and a fully visible stream stays fully visible. A null map: no session is open.
    void set_map(std::shared_ptr<const engine::RetentionMap> map, uint64_t length = 0);
    void set_marks(MapMarks marks);                        // replaces sections, pins and highlights
    void set_highlights(std::vector<StreamRange> sources); // sources of an answer; empty: none
    void set_compact(bool compact); // hides legend and readout; the tool tip still describes the cell
    void set_describe(Describe describe);

    const MapScene& scene() const { return scene_; }
    const std::optional<MapCell>& place() const { return place_; } // the cell at the crosshair
    QString place_text() const;                                    // description of the cell at the crosshair
    MapGrid grid() const;                                          // valid until the view changes
    uint64_t frames_painted() const { return pacer_.frames(); } // number of rendered pictures, not of paint events
    bool is_current() const { return pacer_.is_current(); }     // the picture shows the current scene
    MapExporter& exporter() { return exporter_; }

    void show_tokens(StreamRange range);         // zooms to the range and some tokens around it
    void show_window(double first, double last); // sets the visible range, in tokens; for maps that share one axis
    void move_to(uint64_t token);                // moves the crosshair within its row and scrolls to the token
    void set_expanded(int32_t layer, bool expanded);
    void zoom(double factor);          // around the crosshair, otherwise around the centre
    void save_as(const QString& file); // asynchronous; export_ended reports the result

public Q_SLOTS:
    void reset_zoom();
    void expand_all();
    void collapse_all();
    void show_table();
    void choose_export(); // opens a file dialog

Q_SIGNALS:
    void token_activated(quint64 token);                         // by click or Space
    void range_wanted(const palimpsest::ui::StreamRange& range); // selected with Shift
    void place_changed();
    void window_changed(double first, double last);                 // the visible range, after every change
    void export_ended(const QString& file, const QString& trouble); // trouble: empty if the file was written

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
        VisibleRange window;
        int scroll = 0;
        std::optional<uint64_t> selects_from; // first token of a selection; set if Shift is held
        bool moved = false;
    };

    static void install_accessibility(); // for the whole program; may be called again (accessible_map.cpp)

    // ---- what is shown (view.cpp)
    void repaint_later(); // marks the picture as out of date
    void render();
    void arrange(); // updates scroll bar and readout
    void paint_empty(QPainter& painter) const;
    void set_place(std::optional<MapCell> place);
    void refresh_cell();

    // ---- keyboard and mouse (view_input.cpp)
    void move_columns(int columns);
    void move_rows(int rows);
    void activate_token();
    void extend_selection(int columns);
    void select(uint64_t from, uint64_t to);
    bool navigate(const QKeyEvent& event);
    void drag_to(const QPointF& at);
    void show_tip(const QPoint& at);

    MapScene scene_; // has no title, because the dock shows one
    Describe describe_;
    std::optional<MapCell> place_;
    bool placed_by_mouse_ = false;
    std::optional<uint64_t> selection_anchor_;
    std::optional<Drag> drag_;
    QImage picture_; // the rendered viewport without the crosshair
    FramePacer pacer_;
    std::pair<double, double> told_window_;
    MapExporter exporter_;
    MapReadout* readout_;
    MapActions* actions_;
    MapTableWindow* table_window_ = nullptr; // owned as a child widget
};

} // namespace palimpsest::ui
