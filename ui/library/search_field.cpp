#include "ui/library/search_field.h"

#include <QAction>
#include <QKeyEvent>

#include "ui/base/clear_button.h"
#include "ui/base/icon.h"

namespace palimpsest::ui {

SearchField::SearchField(QWidget* parent) : QLineEdit(parent)
{
    setPlaceholderText(tr("Find words in all texts"));
    setToolTip(
        tr("Finds names, messages and passages that have all of the words. \"Words between quotation marks\" "
           "are kept together."));
    setAccessibleName(tr("Search the library"));
    setAccessibleDescription(
        tr("Names are filtered while you type; all documents and messages are searched as well"));
    add_clear_button(*this);
    addAction(icon("search"), QLineEdit::LeadingPosition)->setText(accessibleName());
}

bool SearchField::has_search() const
{
    constexpr int min_searched = 2; // characters; a single one would match almost everything
    return text().trimmed().size() >= min_searched;
}

bool SearchField::event(QEvent* event)
{
    const bool is_key = event->type() == QEvent::ShortcutOverride || event->type() == QEvent::KeyPress;
    if (!is_key || static_cast<QKeyEvent*>(event)->key() != Qt::Key_Escape || text().isEmpty())
        return QLineEdit::event(event);
    if (event->type() == QEvent::KeyPress) clear();
    event->accept();
    return true;
}

void SearchField::keyPressEvent(QKeyEvent* event)
{
    if (event->key() == Qt::Key_Down && event->modifiers() == Qt::NoModifier)
        Q_EMIT left_downwards();
    else
        QLineEdit::keyPressEvent(event);
}

} // namespace palimpsest::ui
