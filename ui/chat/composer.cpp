#include "ui/chat/composer.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QStyle>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>

#include "ui/base/quantity.h"
#include "ui/base/visible_text.h"
#include "ui/chat/question_field.h"

namespace palimpsest::ui {
namespace {

constexpr size_t chips_shown = 3;
constexpr qsizetype chip_characters = 200, details_characters = 240;

} // namespace

Chip::Chip(const QString& text, const QString& cancel_name, QWidget* parent)
    : QFrame(parent), text_(visible_text(text.left(chip_characters).simplified())), label_(new QLabel(this)),
      cross_(new QToolButton(this))
{
    setFrameShape(QFrame::StyledPanel);
    auto* column = new QVBoxLayout(this);
    auto* row = new QHBoxLayout;
    const int margin = fontMetrics().height() / 4;
    column->setContentsMargins(2 * margin, margin / 2, margin, margin / 2);
    column->setSpacing(margin / 2);
    column->addLayout(row);
    label_->setTextFormat(Qt::PlainText);
    label_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    label_->setAccessibleName(text_);
    row->addWidget(label_, 1);
    cross_->setText(QStringLiteral("✕"));
    cross_->setAutoRaise(true);
    cross_->setFocusPolicy(Qt::StrongFocus);
    cross_->setToolTip(cancel_name);
    cross_->setAccessibleName(cancel_name);
    row->addWidget(cross_);
    connect(cross_, &QToolButton::clicked, this, &Chip::cancelled);
}

void Chip::resizeEvent(QResizeEvent* event)
{
    QFrame::resizeEvent(event);
    layout()->activate();
    label_->setText(label_->fontMetrics().elidedText(text_, Qt::ElideRight, label_->width()));
}

void Chip::set_details(const QString& details)
{
    if (!details_) {
        details_ = new QLabel(this);
        details_->setTextFormat(Qt::PlainText);
        details_->setWordWrap(true);
        details_->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
        layout()->addWidget(details_);
    }
    details_->setText(visible_text(details));
    details_->setAccessibleName(details_->text());
}

Composer::Composer(QWidget* parent)
    : QWidget(parent), chips_(new QVBoxLayout), more_(new QLabel(this)), field_(new QuestionField(this)),
      button_(new QToolButton(this))
{
    auto* column = new QVBoxLayout(this);
    const int margin = fontMetrics().height() / 2;
    column->setContentsMargins(margin, margin / 2, margin, margin);
    column->setSpacing(margin / 2);
    chips_->setSpacing(margin / 2);
    column->addLayout(chips_);
    chips_->addWidget(more_);
    more_->hide();
    auto* row = new QHBoxLayout;
    row->addWidget(field_, 1);
    button_->setFocusPolicy(Qt::StrongFocus);
    button_->setToolButtonStyle(Qt::ToolButtonTextOnly);
    row->addWidget(button_, 0, Qt::AlignBottom);
    column->addLayout(row);
    setFocusProxy(field_);
    connect(field_, &QuestionField::send_pressed, this, &Composer::send);
    connect(field_, &QuestionField::stop_pressed, this, [this] {
        if (edited_message_ != 0)
            end_edit();
        else if (running_)
            Q_EMIT stop_wanted();
    });
    connect(field_, &QuestionField::text_pasted, this, &Composer::text_pasted);
    connect(field_, &QuestionField::files_dropped, this, &Composer::files_dropped);
    connect(field_, &QPlainTextEdit::textChanged, this, &Composer::update_button);
    connect(button_, &QToolButton::clicked, this, [this] {
        if (running_)
            Q_EMIT stop_wanted();
        else
            send();
    });
    update_button();
}

void Composer::set_enter_sends(bool sends)
{
    enter_sends_ = sends;
    field_->set_enter_sends(sends);
    update_button();
}

void Composer::set_running(bool running)
{
    if (running == running_) return;
    running_ = running;
    update_button();
}

void Composer::update_button()
{
    const QString name = running_ ? tr("Stop") : tr("Send");
    button_->setText(running_ ? QStringLiteral("■ ") + name : name);
    button_->setAccessibleName(name);
    button_->setToolTip(running_       ? tr("Stop what is running (Esc)")
                        : enter_sends_ ? tr("Send the question (Enter; Shift+Enter starts a new line)")
                                       : tr("Send the question (Ctrl+Enter)"));
    button_->setEnabled(running_ || !field_->document()->isEmpty());
}

void Composer::send()
{
    const QString question = field_->toPlainText().trimmed();
    if (question.isEmpty()) return;
    field_->remember(question);
    const qint64 message = edited_message_;
    end_edit();
    field_->replace({});
    if (message != 0)
        Q_EMIT branched(message, question);
    else
        Q_EMIT asked(question);
}

void Composer::add_waiting(quint64 id, const QString& question)
{
    auto* chip = new Chip(tr("Waits its turn: %1").arg(question.left(chip_characters)),
                          tr("Take back the question that waits"), this);
    connect(chip, &Chip::cancelled, this, [this, id] { Q_EMIT cancel_wanted(id); });
    waiting_.push_back({id, question, chip});
    chips_->insertWidget(chips_->count() - 1, chip);
    show_waiting();
}

void Composer::show_early_answer(quint64 id, const EarlyReply& reply)
{
    const auto it = std::find_if(waiting_.begin(), waiting_.end(), [&](const Waiting& w) { return w.id == id; });
    if (it == waiting_.end()) return;
    const auto shortened = [](const QString& text) {
        const QString plain = text.simplified();
        return plain.size() <= details_characters ? plain : plain.left(details_characters) + QChar(0x2026);
    };
    QString details = tr("From the %1 read so far: %2").arg(share_text(reply.share), shortened(reply.text));
    if (!reply.quote.isEmpty())
        details += QLatin1Char('\n') + tr("The document says: “%1” (%2)").arg(shortened(reply.quote), reply.place);
    it->chip->set_details(details);
}

void Composer::remove_waiting(quint64 id)
{
    const auto it = std::find_if(waiting_.begin(), waiting_.end(), [&](const Waiting& w) { return w.id == id; });
    if (it == waiting_.end()) return;
    it->chip->deleteLater();
    it->chip->hide();
    waiting_.erase(it);
    show_waiting();
}

QString Composer::waiting(quint64 id) const
{
    const auto it = std::find_if(waiting_.begin(), waiting_.end(), [&](const Waiting& w) { return w.id == id; });
    return it == waiting_.end() ? QString() : it->question;
}

void Composer::show_waiting()
{
    for (size_t i = 0; i < waiting_.size(); ++i)
        waiting_[i].chip->setVisible(i < chips_shown);
    const int hidden = static_cast<int>(waiting_.size()) - static_cast<int>(std::min(waiting_.size(), chips_shown));
    more_->setText(tr("and %n more", nullptr, hidden));
    more_->setVisible(hidden > 0);
}

void Composer::edit_question(qint64 message, const QString& question)
{
    end_edit();
    edited_message_ = message;
    edited_ = new Chip(tr("Asked anew in a branch; the chat so far stays as it is"),
                       tr("Leave the question as it was"), this);
    connect(edited_, &Chip::cancelled, this, [this] {
        end_edit();
        field_->setFocus();
    });
    chips_->addWidget(edited_);
    set_question(question);
}

void Composer::end_edit()
{
    edited_message_ = 0;
    if (edited_) edited_->deleteLater();
    if (edited_) edited_->hide();
    edited_ = nullptr;
}

void Composer::set_question(const QString& question)
{
    field_->replace(question);
    field_->setFocus();
}

} // namespace palimpsest::ui
