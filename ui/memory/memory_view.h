// The memory of the open session's cache, compared with a full cache: a chart over the tokens read, and a table.
#pragma once

#include <QWidget>

#include "ui/engine/frame.h"
#include "ui/memory/memory_history.h"

class QLabel;
class QStackedWidget;
class QTableView;

namespace palimpsest::ui {

class MemoryTable;

class MemoryView final : public QWidget {
    Q_OBJECT
public:
    explicit MemoryView(QWidget* parent = nullptr);

    // Starts the history of a newly opened session; clears what was shown before. `device`: where its cache is
    // allocated ("cpu", "cuda:0"). `full_cache` fills the curves up to the first frame; if null, the curves start
    // at that frame.
    void begin(const QString& device, FullCache full_cache = {});
    // Shows the newest frame. A frame without an open session empties the view.
    void show_frame(const Frame& frame);

    const MemoryHistory& history() const { return history_; }

private:
    void clear();

    MemoryHistory history_;
    QString device_;
    FullCache full_cache_;
    QStackedWidget* pages_;
    QLabel* nothing_;
    Chart* chart_;
    QTableView* table_view_;
    MemoryTable* table_;
};

} // namespace palimpsest::ui
