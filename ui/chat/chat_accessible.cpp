// Accessibility of the chat view: a list whose items are the turns, each with its text, notes and actions.
#include <QAccessible>
#include <QAccessibleWidget>
#include <QPointer>
#include <QWindow>
#include <unordered_map>

#include "ui/chat/chat_view.h"

namespace palimpsest::ui {
namespace {

class TurnInterface : public QAccessibleInterface, public QAccessibleActionInterface {
public:
    TurnInterface(ChatView* view, int turn) : view_(view), turn_(turn) {}

    bool isValid() const override { return view_ && turn_ < view_->turns().count(); }
    QObject* object() const override { return nullptr; }
    QWindow* window() const override { return isValid() ? view_->window()->windowHandle() : nullptr; }
    QAccessibleInterface* parent() const override { return QAccessible::queryAccessibleInterface(view_); }
    QAccessibleInterface* child(int) const override { return nullptr; }
    QAccessibleInterface* childAt(int, int) const override { return nullptr; }
    int childCount() const override { return 0; }
    int indexOfChild(const QAccessibleInterface*) const override { return -1; }
    QAccessible::Role role() const override { return QAccessible::ListItem; }
    void setText(QAccessible::Text, const QString&) override {}

    QString text(QAccessible::Text kind) const override
    {
        if (!isValid()) return {};
        switch (kind) {
        case QAccessible::Name:
            return QStringLiteral("%1: %2").arg(view_->turns().name(turn_), view_->turns().text(turn_));
        case QAccessible::Description:
            return view_->turns().notes(turn_);
        default:
            return {};
        }
    }

    QRect rect() const override
    {
        if (!isValid()) return {};
        const QRect inner = view_->turn_rect(turn_);
        return {view_->viewport()->mapToGlobal(inner.topLeft()), inner.size()};
    }

    QAccessible::State state() const override
    {
        QAccessible::State state;
        if (!isValid()) {
            state.invalid = true;
            return state;
        }
        state.focusable = state.selectable = state.readOnly = true;
        state.focused = state.selected = view_->hasFocus() && view_->current_turn() == turn_;
        state.offscreen = !view_->viewport()->rect().intersects(view_->turn_rect(turn_));
        return state;
    }

    void* interface_cast(QAccessible::InterfaceType type) override
    {
        return type == QAccessible::ActionInterface ? static_cast<QAccessibleActionInterface*>(this) : nullptr;
    }

    // ---- actions, named by their menu labels
    QStringList actionNames() const override
    {
        QStringList names{setFocusAction()};
        if (!isValid()) return names;
        for (const TurnAction action : view_->turns().actions(turn_))
            names += view_->turns().action_label(turn_, action);
        return names;
    }

    void doAction(const QString& name) override
    {
        if (!isValid()) return;
        if (name == setFocusAction()) {
            view_->setFocus();
            view_->set_current_turn(turn_);
        }
        for (const TurnAction action : view_->turns().actions(turn_))
            if (view_->turns().action_label(turn_, action) == name) return view_->perform(turn_, action);
    }

    QStringList keyBindingsForAction(const QString&) const override { return {}; }

private:
    QPointer<ChatView> view_;
    int turn_;
};

class ChatInterface : public QAccessibleWidget {
public:
    explicit ChatInterface(ChatView* view) : QAccessibleWidget(view, QAccessible::List), view_(view) {}
    ~ChatInterface() override
    {
        for (const auto& [turn, id] : ids_)
            QAccessible::deleteAccessibleInterface(id);
    }

    // The turns come first, then the view's child widgets.
    int childCount() const override { return view_->turns().count() + QAccessibleWidget::childCount(); }

    QAccessibleInterface* child(int index) const override
    {
        if (index < 0) return nullptr;
        if (index >= view_->turns().count()) return QAccessibleWidget::child(index - view_->turns().count());
        const auto known = ids_.find(index);
        if (known != ids_.end()) return QAccessible::accessibleInterface(known->second);
        auto* turn = new TurnInterface(view_, index); // owned by Qt until deleteAccessibleInterface
        ids_[index] = QAccessible::registerAccessibleInterface(turn);
        return turn;
    }

    int indexOfChild(const QAccessibleInterface* child) const override
    {
        for (const auto& [turn, id] : ids_)
            if (QAccessible::accessibleInterface(id) == child) return turn;
        const int widget = QAccessibleWidget::indexOfChild(child);
        return widget < 0 ? widget : widget + view_->turns().count();
    }

    QAccessibleInterface* focusChild() const override
    {
        return view_->hasFocus() && view_->current_turn() >= 0 ? child(view_->current_turn())
                                                               : QAccessibleWidget::focusChild();
    }

private:
    ChatView* view_;
    mutable std::unordered_map<int, QAccessible::Id> ids_; // by turn, for the turns that child() has created
};

QAccessibleInterface* make_interface(const QString& class_name, QObject* object)
{
    if (class_name != QLatin1String(ChatView::staticMetaObject.className())) return nullptr;
    return new ChatInterface(static_cast<ChatView*>(object)); // owned by Qt's cache
}

} // namespace

void ChatView::install_accessibility()
{
    QAccessible::installFactory(make_interface);
}

} // namespace palimpsest::ui
