// The map as a table: one row per row of the map, one column per section or per tenth of the stream. Columns name
// the pages that they stand on, and tips those and the heading of tenths.
#pragma once

#include <QAbstractTableModel>

#include "ui/map/place.h"
#include "ui/map/scene.h"

namespace palimpsest::ui {

// Cells are counted on demand: O(heads of the row * log kept), independent of the stream's length.
class RetentionTable : public QAbstractTableModel {
    Q_OBJECT
public:
    enum class Columns { Tenths, Sections };
    // Numbers without formatting. TokenRole: the first token of the column.
    enum Role { ShareRole = Qt::UserRole, KeptRole, PairsRole, TokenRole };

    using QAbstractTableModel::QAbstractTableModel;

    // Shows the rows, counts and sections of the scene, whatever its visible range. Resets the model only if rows
    // or sections change.
    void set_scene(const MapScene& scene);
    void set_columns(Columns columns); // Sections has no effect if there are none
    Columns columns() const { return columns_; }
    bool has_sections() const { return !scene_.marks.sections.empty(); }

    MapCell place_at(const QModelIndex& index) const;
    QString as_text() const; // with headers, tab-separated; used by "Copy"

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    StreamRange tokens_of(int column) const;
    QString column_name(int column) const;  // of a section: with its pages
    QString column_place(int column) const; // with the heading and pages of tenths, too
    void divide();

    MapScene scene_;
    Columns columns_ = Columns::Sections;
    std::vector<uint64_t> edges_; // first tokens of the sections; the first may exceed 0. Empty: columns are tenths
};

} // namespace palimpsest::ui
