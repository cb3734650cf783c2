// The outline as a list model. How much of a row is still held is computed when it is asked for, so that a new
// retained-token map costs only what is visible.
#pragma once

#include <QAbstractListModel>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/cache/retention_map.h"
#include "ui/outline/outline_rows.h"

namespace palimpsest::ui {

class OutlineModel : public QAbstractListModel {
    Q_OBJECT
public:
    enum Role {
        NoteRole = Qt::UserRole, // QString, with quotation marks if it is quoted; empty: none
        HeldRole,                // double, 0 to 1; invalid: nothing is known, or nothing of it was read
        LevelRole,               // int, of the section; 1: not within another
        StateRole                // QString: "quoted · 61 % held"
    };

    using QAbstractListModel::QAbstractListModel;

    // Keeps rows that stay the same, and with them selection and scroll position.
    void set_rows(std::vector<OutlineRow> rows);
    void add_note(const storage::Note& note);
    void set_kept(std::shared_ptr<const engine::RetentionMap> kept); // null: unknown

    std::span<const OutlineRow> rows() const { return rows_; }
    const OutlineRow& row(int index) const { return rows_[static_cast<size_t>(index)]; }
    int rowCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;

    // How many notes there are, and can be: on what was read to its end.
    struct Notes {
        int written = 0, possible = 0;
        bool operator==(const Notes&) const = default;
    };
    Notes notes(uint64_t tokens_read) const; // of the stream
    QString text_of_row(int index) const;    // title and note, as it is copied

Q_SIGNALS:
    void
    held_changed(); // HeldRole and StateRole of all rows; not dataChanged, which would cost as many as there are

private:
    std::optional<double> held(const OutlineRow& row) const;
    QString held_text(const OutlineRow& row) const;
    QString state(const OutlineRow& row) const;
    QString title(const OutlineRow& row) const;
    QString note(const OutlineRow& row) const;
    QString spoken(const OutlineRow& row) const;

    std::vector<OutlineRow> rows_;
    std::shared_ptr<const engine::RetentionMap> kept_;
};

} // namespace palimpsest::ui
