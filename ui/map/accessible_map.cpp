// Accessibility of the map: its name and its value, which is the token at the crosshair.
#include <QAccessible>
#include <QAccessibleWidget>

#include "ui/map/view.h"

namespace palimpsest::ui {
namespace {

// As a number, the value is the token at the crosshair; as a text, it describes the cell.
class AccessibleMap : public QAccessibleWidget, public QAccessibleValueInterface {
public:
    explicit AccessibleMap(RetentionView* view) : QAccessibleWidget(view, QAccessible::Chart) {}

    void* interface_cast(QAccessible::InterfaceType type) override
    {
        if (type == QAccessible::ValueInterface) return static_cast<QAccessibleValueInterface*>(this);
        return QAccessibleWidget::interface_cast(type);
    }
    QString text(QAccessible::Text kind) const override
    {
        if (kind == QAccessible::Value) return view()->place_text();
        return QAccessibleWidget::text(kind);
    }

    QVariant currentValue() const override
    {
        return view()->place() ? static_cast<qulonglong>(view()->place()->tokens.first) : 0ULL;
    }
    void setCurrentValue(const QVariant& value) override { view()->move_to(value.toULongLong()); }
    QVariant minimumValue() const override { return 0ULL; }
    QVariant maximumValue() const override
    {
        const uint64_t length = view()->scene().window.length();
        return static_cast<qulonglong>(length > 0 ? length - 1 : 0);
    }
    QVariant minimumStepSize() const override { return 1ULL; }

private:
    RetentionView* view() const { return static_cast<RetentionView*>(widget()); }
};

QAccessibleInterface* make(const QString&, QObject* object)
{
    auto* const view = qobject_cast<RetentionView*>(object);
    return view ? new AccessibleMap(view) : nullptr;
}

} // namespace

void RetentionView::install_accessibility()
{
    static const bool installed = [] {
        QAccessible::installFactory(make);
        return true;
    }();
    static_cast<void>(installed);
}

} // namespace palimpsest::ui
