#include "ui/outline/outline_model.h"

#include <algorithm>
#include <utility>

#include "engine/policy/pins.h"
#include "ui/base/place_text.h"
#include "ui/base/quantity.h"

namespace palimpsest::ui {

void OutlineModel::set_rows(std::vector<OutlineRow> rows)
{
    if (rows == rows_) return;
    const bool same_places = std::ranges::equal(rows, rows_, [](const OutlineRow& a, const OutlineRow& b) {
        return a.range == b.range && a.document == b.document && a.kind == b.kind;
    });
    if (!same_places) {
        beginResetModel();
        rows_ = std::move(rows);
        endResetModel();
        return;
    }
    for (size_t i = 0; i < rows.size(); ++i) {
        if (rows[i] == rows_[i]) continue;
        rows_[i] = std::move(rows[i]);
        const QModelIndex changed = index(static_cast<int>(i));
        Q_EMIT dataChanged(changed, changed);
    }
}

void OutlineModel::add_note(const storage::Note& note)
{
    for (size_t i = 0; i < rows_.size(); ++i) {
        if (!is_on(note, rows_[i])) continue;
        put_note(rows_[i], note);
        const QModelIndex changed = index(static_cast<int>(i));
        Q_EMIT dataChanged(changed, changed);
    }
}

void OutlineModel::set_kept(std::shared_ptr<const engine::RetentionMap> kept)
{
    kept_ = std::move(kept);
    Q_EMIT held_changed();
}

int OutlineModel::rowCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : static_cast<int>(rows_.size());
}

QVariant OutlineModel::data(const QModelIndex& index, int role) const
{
    if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
    const OutlineRow& of = row(index.row());
    switch (role) {
    case Qt::DisplayRole:
        return title(of);
    case Qt::ToolTipRole:
        return tr("tokens %1 to %2")
            .arg(count_text(of.range.first), count_text(std::max(of.range.first + 1, of.range.last) - 1));
    case Qt::AccessibleTextRole:
        return spoken(of);
    case NoteRole:
        return note(of);
    case HeldRole: {
        const auto share = held(of);
        return share ? QVariant(*share) : QVariant();
    }
    case LevelRole:
        return of.level;
    case StateRole:
        return state(of);
    default:
        return {};
    }
}

std::optional<double> OutlineModel::held(const OutlineRow& row) const
{
    if (!kept_ || row.range.first >= kept_->tokens_seen) return std::nullopt;
    return engine::held(*kept_, {static_cast<uint32_t>(row.range.first), static_cast<uint32_t>(row.range.last)});
}

QString OutlineModel::held_text(const OutlineRow& row) const
{
    if (!kept_) return {};
    const auto share = held(row);
    if (!share) return tr("not read yet");
    constexpr double least_shown = 0.0005; // share_text() rounds less to "0.0 %"
    return *share > 0 && *share < least_shown ? tr("less than 0.1 % held") : tr("%1 held").arg(share_text(*share));
}

QString OutlineModel::state(const OutlineRow& row) const
{
    const QString how = held_text(row);
    if (!row.is_quoted) return how;
    return how.isEmpty() ? tr("quoted") : tr("quoted · %1").arg(how);
}

QString OutlineModel::title(const OutlineRow& row) const
{
    const QString title = place_text(row.title.isEmpty() ? tr("(no title)") : row.title, row.pages);
    return row.part > 0 ? tr("%1, part %2 of %3")
                              .arg(title, count_text(static_cast<uint64_t>(row.part)),
                                   count_text(static_cast<uint64_t>(row.parts)))
                        : title;
}

QString OutlineModel::note(const OutlineRow& row) const
{
    return row.is_quoted && !row.note.isEmpty() ? tr("“%1”").arg(row.note) : row.note;
}

QString OutlineModel::spoken(const OutlineRow& row) const
{
    QStringList parts{title(row)};
    if (const QString how = held_text(row); !how.isEmpty()) parts << how;
    if (!row.note.isEmpty()) parts << (row.is_quoted ? tr("quoted: %1").arg(note(row)) : note(row));
    return parts.join(QStringLiteral(". "));
}

OutlineModel::Notes OutlineModel::notes(uint64_t tokens_read) const
{
    Notes notes;
    for (const OutlineRow& row : rows_) {
        if (!row.note.isEmpty()) ++notes.written;
        if (!row.note.isEmpty() || (row.noted_end && *row.noted_end <= tokens_read)) ++notes.possible;
    }
    return notes;
}

QString OutlineModel::text_of_row(int index) const
{
    const OutlineRow& of = row(index);
    return of.note.isEmpty() ? title(of) : QStringLiteral("%1\n    %2").arg(title(of), note(of));
}

} // namespace palimpsest::ui
