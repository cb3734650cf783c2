// Editor for one policy parameter, with its meaning, default and range as the engine describes them. An empty value
// means the default.
#pragma once

#include <QWidget>

#include "engine/policy/named/policy_info.h"

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
    void set_trouble(const QString& sentence); // empty hides it

Q_SIGNALS:
    void changed();

private:
    QString key_;
    QLineEdit* line_ = nullptr; // exactly one of these two is set
    QComboBox* choices_ = nullptr;
    QLabel* trouble_;
};

// A label below a field for an error sentence; hidden while there is none.
QLabel* make_trouble_label(QWidget* parent);
void show_trouble(QLabel& label, const QString& sentence);

} // namespace palimpsest::ui
