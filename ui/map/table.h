// The map in numbers: a row per layer or head as the map shows them, a column per section or tenth of the stream.
#pragma once

#include <QAbstractTableModel>

#include "ui/map/place.h"
#include "ui/map/scene.h"

namespace palimpsest::ui {

// A cell is counted when it is looked at: O(heads of the row * log kept), whatever the stream's length.
class RetentionTable : public QAbstractTableModel {
    Q_OBJECT
public:
    enum class Columns { Tenths, Sections };
    enum Role { ShareRole = Qt::UserRole, KeptRole, PairsRole, TokenRole }; // raw; TokenRole: the column's first

    using QAbstractTableModel::QAbstractTableModel;

    // Rows, tokens and sections are the scene's; its window is not looked at. Only a change of rows, columns or
    // sections resets the model.
    void set_scene(const MapScene& scene);
    void set_columns(Columns columns); // sections where there are some
    Columns columns() const { return columns_; }
    bool has_sections() const { return !scene_.marks.sections.empty(); }

    MapPlace place_at(const QModelIndex& index) const;
    QString as_text() const; // with headers, cells parted by tabs; what "copy" takes

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    StreamRange tokens_of(int column) const;
    QString column_name(int column) const;
    void divide();

    MapScene scene_;
    Columns columns_ = Columns::Sections;
    std::vector<uint64_t> edges_; // of the sections, the first may begin late; empty: tenths
};

} // namespace palimpsest::ui
