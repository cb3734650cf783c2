#include "ui/document/go_to_dialog.h"
#include "ui/base/clear_button.h"
#include "ui/base/place_text.h"
#include "ui/base/quantity.h"

#include <QAbstractListModel>
#include <QCoreApplication>
#include <QKeyEvent>
#include <QLineEdit>
#include <QListView>
#include <QLocale>
#include <QSortFilterProxyModel>
#include <QVBoxLayout>
#include <algorithm>
#include <optional>

namespace palimpsest::ui {
namespace {

constexpr int token_role = Qt::UserRole;
constexpr int deepest_indent = 6;

class HeadingModel : public QAbstractListModel {
public:
    HeadingModel(const TextOutline& outline, QObject* parent)
        : QAbstractListModel(parent), headings_(outline.headings)
    {
        for (const Heading& heading : headings_)
            places_ << place_text(heading.title.isEmpty() ? no_title() : heading.title,
                                  outline.pages_of({heading.token, heading.token + 1}));
    }

    int rowCount(const QModelIndex& parent) const override
    {
        return parent.isValid() ? 0 : static_cast<int>(headings_.size());
    }
    QVariant data(const QModelIndex& index, int role) const override
    {
        if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
        const Heading& heading = headings_[static_cast<size_t>(index.row())];
        const auto number = count_text(heading.token);
        switch (role) {
        case Qt::DisplayRole:
            return QString(2 * std::min(heading.level, deepest_indent), QChar::Nbsp) + places_[index.row()];
        case Qt::AccessibleTextRole:
            return places_[index.row()];
        case Qt::ToolTipRole:
            return QCoreApplication::translate("palimpsest::ui::GoToDialog", "from token %1").arg(number);
        case token_role:
            return static_cast<qulonglong>(heading.token);
        default:
            return {};
        }
    }

private:
    static QString no_title() { return QCoreApplication::translate("palimpsest::ui::GoToDialog", "(no title)"); }

    std::vector<Heading> headings_;
    QStringList places_; // of the headings, with their pages
};

std::optional<uint64_t> token_number(const QString& text, uint64_t tokens)
{
    bool is_number = false;
    const qulonglong token = QLocale().toULongLong(text.trimmed(), &is_number);
    if (!is_number) return std::nullopt;
    return std::min<uint64_t>(token, tokens ? tokens - 1 : 0);
}

} // namespace

GoToDialog::GoToDialog(const TextOutline& outline, uint64_t here, QWidget* parent)
    : QDialog(parent), tokens_(outline.tokens), line_(new QLineEdit(this)), list_(new QListView(this)),
      shown_(new QSortFilterProxyModel(this))
{
    setWindowTitle(tr("Go to"));
    setAttribute(Qt::WA_DeleteOnClose);
    auto* column = new QVBoxLayout(this);
    column->addWidget(line_);
    column->addWidget(list_, 1);
    line_->setPlaceholderText(tr("Chapter, or number of a token up to %1").arg(count_text(tokens_)));
    line_->setAccessibleName(tr("Chapter or token"));
    add_clear_button(*line_);
    line_->installEventFilter(this);
    list_->setAccessibleName(tr("Chapters"));
    list_->setUniformItemSizes(true);
    list_->setTextElideMode(Qt::ElideMiddle);
    shown_->setSourceModel(new HeadingModel(outline, shown_));
    shown_->setFilterCaseSensitivity(Qt::CaseInsensitive);
    list_->setModel(shown_);
    const auto after = std::ranges::upper_bound(outline.headings, here, {}, &Heading::token);
    if (after != outline.headings.begin())
        list_->setCurrentIndex(shown_->index(static_cast<int>(after - outline.headings.begin()) - 1, 0));
    connect(line_, &QLineEdit::textChanged, this, &GoToDialog::filter);
    connect(list_, &QListView::activated, this, &GoToDialog::choose);
    resize(fontMetrics().averageCharWidth() * 56, fontMetrics().height() * 22);
}

void GoToDialog::filter(const QString& text)
{
    shown_->setFilterFixedString(token_number(text, tokens_) ? QString() : text);
    if (!list_->currentIndex().isValid() && shown_->rowCount() > 0) list_->setCurrentIndex(shown_->index(0, 0));
}

void GoToDialog::choose()
{
    const auto number = token_number(line_->text(), tokens_);
    const QModelIndex row = list_->currentIndex();
    if (!number && !row.isValid()) return;
    Q_EMIT chosen(number && !list_->hasFocus() ? *number : row.data(token_role).toULongLong());
    accept();
}

// Passes arrow and page keys from the text field to the list.
bool GoToDialog::eventFilter(QObject* watched, QEvent* event)
{
    if (event->type() != QEvent::KeyPress) return QDialog::eventFilter(watched, event);
    const int key = static_cast<QKeyEvent*>(event)->key();
    if (key == Qt::Key_Return || key == Qt::Key_Enter) {
        choose();
        return true;
    }
    const bool walks = key == Qt::Key_Up || key == Qt::Key_Down || key == Qt::Key_PageUp || key == Qt::Key_PageDown;
    return walks ? QCoreApplication::sendEvent(list_, event) : QDialog::eventFilter(watched, event);
}

} // namespace palimpsest::ui
