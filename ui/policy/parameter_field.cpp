#include "ui/policy/parameter_field.h"

#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QVBoxLayout>

#include "ui/base/utf8.h"
#include "ui/base/wording.h"

namespace palimpsest::ui {
namespace {

QLabel* wrapped(const QString& text, QWidget* parent)
{
    auto* label = new QLabel(text, parent);
    label->setWordWrap(true);
    label->setTextFormat(Qt::PlainText);
    return label;
}

} // namespace

QLabel* make_trouble_label(QWidget* parent)
{
    auto* label = wrapped({}, parent);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    label->hide();
    return label;
}

void show_trouble(QLabel& label, const QString& sentence)
{
    label.setText(sentence.isEmpty() ? QString() : QStringLiteral("⚠ ") + sentence);
    label.setVisible(!sentence.isEmpty());
}

ParameterField::ParameterField(const engine::ParameterInfo& info, QWidget* parent)
    : QWidget(parent), key_(QString::fromStdString(info.key)), trouble_(make_trouble_label(this))
{
    const QString default_text = shown(info.default_text), range = shown(info.range);
    QWidget* editor;
    if (info.choices.empty()) {
        editor = line_ = new QLineEdit(this);
        line_->setPlaceholderText(default_text);
        connect(line_, &QLineEdit::textChanged, this, &ParameterField::changed);
    } else {
        editor = choices_ = new QComboBox(this);
        choices_->addItem(tr("default (%1)").arg(default_text), QString());
        for (const std::string& name : info.choices)
            choices_->addItem(text_of(name), text_of(name));
        connect(choices_, &QComboBox::currentIndexChanged, this, &ParameterField::changed);
    }
    const QString meaning = shown(info.meaning);
    const QString limits = tr("default %1; %2").arg(default_text, range);
    editor->setObjectName(QStringLiteral("parameter-") + key_);
    editor->setAccessibleName(key_);
    editor->setAccessibleDescription(meaning + QStringLiteral("; ") + limits);
    editor->setToolTip(meaning + QStringLiteral("\n") + limits);

    auto* label = new QLabel(key_, this);
    QFont bold = label->font();
    bold.setBold(true);
    label->setFont(bold);
    label->setBuddy(editor);
    auto* explanation = wrapped(tr("%1 (%2)").arg(meaning, limits), this);
    auto* head = new QHBoxLayout;
    head->addWidget(label, 2);
    head->addWidget(editor, 3);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, fontMetrics().height() / 3);
    layout->setSpacing(fontMetrics().height() / 6);
    layout->addLayout(head);
    layout->addWidget(explanation);
    layout->addWidget(trouble_);
    setFocusProxy(editor);
}

QString ParameterField::value() const
{
    return line_ ? line_->text().trimmed() : choices_->currentData().toString();
}

void ParameterField::set_value(const QString& value)
{
    if (line_) return line_->setText(value);
    choices_->setCurrentIndex(std::max(0, choices_->findData(value)));
}

void ParameterField::set_trouble(const QString& sentence)
{
    show_trouble(*trouble_, sentence);
}

} // namespace palimpsest::ui
