// Accessibility of the document view: visible text, caret and selection.
#include <QAccessibleWidget>

#include "ui/document/accessible_text.h"
#include "ui/document/document_view.h"

namespace palimpsest::ui {
namespace {

// All offsets are those of AccessibleText.
class DocumentAccessible : public QAccessibleWidget, public QAccessibleTextInterface {
public:
    explicit DocumentAccessible(DocumentView* view) : QAccessibleWidget(view, QAccessible::Document) {}

    void* interface_cast(QAccessible::InterfaceType type) override
    {
        if (type == QAccessible::TextInterface) return static_cast<QAccessibleTextInterface*>(this);
        return QAccessibleWidget::interface_cast(type);
    }
    QString text(QAccessible::Text type) const override
    {
        if (type == QAccessible::Value) return view()->text_layout().paragraph(view()->caret());
        if (type == QAccessible::Help) return view()->describe(view()->caret());
        return QAccessibleWidget::text(type);
    }
    QAccessible::State state() const override
    {
        QAccessible::State state = QAccessibleWidget::state();
        state.readOnly = state.multiLine = state.selectableText = true;
        return state;
    }

    void selection(int index, int* start, int* end) const override
    {
        const StreamRange range = view()->selection();
        *start = *end = 0;
        if (index != 0 || selectionCount() == 0) return;
        *start = std::max(0, shown().offset_of(range.first));
        const int last = shown().offset_of(range.last);
        *end = last < 0 ? characterCount() : last;
    }
    int selectionCount() const override { return view()->selection().first < view()->selection().last ? 1 : 0; }
    void addSelection(int start, int end) override { setSelection(0, start, end); }
    void removeSelection(int) override { view()->set_caret(view()->caret()); }
    void setSelection(int, int start, int end) override
    {
        view()->select({shown().token_at(start), shown().token_at(end)});
    }
    int cursorPosition() const override { return shown().offset_of(view()->caret()); }
    void setCursorPosition(int position) override { view()->set_caret(shown().token_at(position)); }
    QString text(int start, int end) const override
    {
        return view()->text_layout().visible_text().mid(start, end - start);
    }
    int characterCount() const override { return static_cast<int>(view()->text_layout().visible_text().size()); }
    QRect characterRect(int offset) const override
    {
        const QRect rect = shown().rect_at(offset);
        return {view()->viewport()->mapToGlobal(rect.topLeft()), rect.size()};
    }
    int offsetAtPoint(const QPoint& point) const override
    {
        const auto token = view()->text_layout().token_at(view()->viewport()->mapFromGlobal(point));
        return token ? shown().offset_of(*token) : -1;
    }
    void scrollToSubstring(int start, int) override { view()->jump_to(shown().token_at(start)); }
    QString attributes(int offset, int* start, int* end) const override
    {
        *start = offset, *end = std::min(offset + 1, characterCount());
        return {};
    }

private:
    DocumentView* view() const { return static_cast<DocumentView*>(widget()); }
    AccessibleText shown() const { return AccessibleText(view()->text_layout()); }
};

QAccessibleInterface* make(const QString&, QObject* object)
{
    auto* view = qobject_cast<DocumentView*>(object);
    return view ? new DocumentAccessible(view) : nullptr; // owned by Qt's cache
}

} // namespace

void DocumentView::install_accessibility()
{
    static const bool installed = [] {
        QAccessible::installFactory(make);
        return true;
    }();
    static_cast<void>(installed);
}

} // namespace palimpsest::ui
