// What the open session's cache takes, beside what a full cache would: curves over the tokens read, and the
// numbers.
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

    // Of the session that is open from now on; what was drawn of another is gone.
    // `device`: where its cache lies ("cpu", "cuda:0"). `full_cache` fills the curves up to the first frame; null:
    // they begin there.
    void begin(const QString& device, FullCache full_cache = {});
    // The newest; one without an open session empties the view.
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
