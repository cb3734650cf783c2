#include "ui/chat/instructions.h"

#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QPlainTextEdit>
#include <QToolButton>
#include <QVBoxLayout>

#include "ui/base/theme.h"
#include "ui/base/visible_text.h"

namespace palimpsest::ui {
namespace {

constexpr int visible_lines = 4;

} // namespace

Instructions::Instructions(QWidget* parent)
    : QWidget(parent), header_(new QToolButton(this)), summary_(new QLabel(this)), note_(new QLabel),
      body_(new QWidget(this)), field_(new QPlainTextEdit)
{
    header_->setText(tr("Instructions"));
    header_->setAccessibleName(tr("Instructions for the model"));
    header_->setToolTip(tr("How the model is to answer in this session (its system prompt)"));
    header_->setCheckable(true);
    header_->setAutoRaise(true);
    header_->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    summary_->setTextFormat(Qt::PlainText);
    summary_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    note_->setTextFormat(Qt::PlainText);
    note_->setWordWrap(true);
    field_->setAccessibleName(tr("Instructions for the model"));
    field_->setPlaceholderText(tr("None. For example: Answer in one sentence, in English."));
    field_->setTabChangesFocus(true);
    field_->setFixedHeight(field_->fontMetrics().lineSpacing() * visible_lines + 2 * field_->frameWidth() +
                           static_cast<int>(2 * field_->document()->documentMargin()));
    field_->installEventFilter(this);

    const int margin = fontMetrics().averageCharWidth();
    auto* inside = new QVBoxLayout(body_);
    inside->setContentsMargins(margin, 0, margin, margin);
    inside->addWidget(field_);
    inside->addWidget(note_);
    auto* row = new QHBoxLayout;
    row->setContentsMargins(margin / 2, 0, margin, 0);
    row->addWidget(header_);
    row->addWidget(summary_, 1);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, margin / 2, 0, 0);
    column->setSpacing(margin / 2);
    column->addLayout(row);
    column->addWidget(body_);

    connect(header_, &QToolButton::toggled, this, &Instructions::set_unfolded);
    connect(field_, &QPlainTextEdit::textChanged, this, &Instructions::field_changed);
    set_unfolded(false);
    show_session(nullptr);
    restyle();
}

QString Instructions::text() const
{
    return field_->toPlainText().trimmed();
}

bool Instructions::is_unfolded() const
{
    return header_->isChecked();
}

void Instructions::set_unfolded(bool unfolded)
{
    header_->setChecked(unfolded);
    header_->setArrowType(unfolded ? Qt::DownArrow : Qt::RightArrow);
    body_->setVisible(unfolded);
    if (unfolded && header_->hasFocus()) field_->setFocus(Qt::OtherFocusReason);
    if (!unfolded) commit();
    update_summary();
}

void Instructions::set_usual(const QString& system)
{
    const bool is_own = text() != usual_;
    usual_ = system;
    if (state_ == State::NoSession && !is_own) show_text(usual_);
}

void Instructions::set_has_place(bool has_place)
{
    template_has_system_prompt_ = has_place;
    update_note();
}

void Instructions::show_session(const SessionFacts* facts)
{
    const int64_t session = facts ? facts->id : 0;
    const bool is_another = !is_shown_ || session != session_;
    is_shown_ = true;
    session_ = session;
    state_ = !facts ? State::NoSession : facts->has_begun ? State::Begun : State::Open;
    field_->setReadOnly(state_ == State::Begun);
    if (is_another || state_ == State::Begun || (facts && facts->system == wanted_)) wanted_.reset();
    const bool is_being_written = !is_another && state_ == State::Open && (wanted_ || text() != shown_);
    if (!facts && is_another) show_text(usual_);
    if (facts && !is_being_written) show_text(facts->system);
    update_note();
}

void Instructions::commit()
{
    if (state_ != State::Open || text() == shown_) return;
    shown_ = text();
    wanted_ = shown_;
    Q_EMIT wanted(shown_);
}

// Leaves an unchanged text in the field, because setting it would clear the undo history and move the cursor.
void Instructions::show_text(const QString& text)
{
    shown_ = text;
    if (field_->toPlainText() == text) return;
    const QSignalBlocker quiet(field_);
    field_->setPlainText(text);
    update_summary();
}

void Instructions::field_changed()
{
    update_summary();
    if (state_ == State::NoSession) Q_EMIT drafted(text());
}

void Instructions::update_note()
{
    QString note;
    switch (state_) {
    case State::NoSession:
        note =
            tr("The next session begins with these instructions. They can be changed until the session reads its "
               "first text.");
        break;
    case State::Open:
        note = tr("They can be changed until this session reads its first text.");
        break;
    case State::Begun:
        note = tr("They cannot be changed: the model read them at the start of this session, and all that it keeps "
                  "was computed after them. A new session can have others.");
        break;
    }
    if (!template_has_system_prompt_)
        note +=
            u' ' + tr("The loaded model has no place of its own for instructions: they are put before the first "
                      "text of the conversation.");
    note_->setText(note);
    field_->setAccessibleDescription(note);
}

void Instructions::update_summary()
{
    const QString line = visible_text(text().section(u'\n', 0, 0).trimmed());
    const QString whole = line.isEmpty() ? tr("none") : line;
    summary_->setText(is_unfolded() ? QString()
                                    : fontMetrics().elidedText(whole, Qt::ElideRight, summary_->width()));
    header_->setAccessibleDescription(whole);
}

void Instructions::restyle()
{
    QPalette quiet = palette();
    quiet.setColor(QPalette::WindowText, secondary_text(palette()));
    summary_->setPalette(quiet);
    note_->setPalette(quiet);
    update_summary();
}

bool Instructions::eventFilter(QObject* watched, QEvent* event)
{
    if (watched == field_ && event->type() == QEvent::FocusOut) commit();
    return QWidget::eventFilter(watched, event);
}

void Instructions::changeEvent(QEvent* event)
{
    QWidget::changeEvent(event);
    if (event->type() == QEvent::FontChange || event->type() == QEvent::PaletteChange) restyle();
}

void Instructions::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    update_summary();
}

} // namespace palimpsest::ui
