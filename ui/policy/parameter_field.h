// One parameter of a policy: what it means, its default and range as the engine describes them, and a field for a
// value of one's own. Empty: the default.
#pragma once

#include <QWidget>

#include "engine/policy/registry.h"

class QComboBox;
class QLabel;
class QLineEdit;

namespace palimpsest::ui {

class ParameterField final : public QWidget {
    Q_OBJECT
public:
    explicit ParameterField(const engine::ParameterInfo& info, QWidget* parent = nullptr);

    const QString& key() const { return key_; }
    QString value() const;
    void set_value(const QString& value);
    void set_trouble(const QString& sentence); // empty: none

Q_SIGNALS:
    void changed();

private:
    QString key_;
    QLineEdit* line_ = nullptr; // one of these
    QComboBox* choices_ = nullptr;
    QLabel* trouble_;
};

// A sentence below a field that says what is wrong with it; takes no room while there is nothing.
QLabel* make_trouble_label(QWidget* parent);
void show_trouble(QLabel& label, const QString& sentence);

} // namespace palimpsest::ui
