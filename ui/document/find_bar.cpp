#include "ui/document/find_bar.h"
#include "ui/base/clear_button.h"
#include "ui/base/quantity.h"

#include <QApplication>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QLocale>
#include <QTimer>
#include <QToolButton>
#include <algorithm>

namespace palimpsest::ui {

FindBar::FindBar(QWidget* parent)
    : QWidget(parent), line_(new QLineEdit(this)), count_label_(new QLabel(this)), next_(new QToolButton(this)),
      previous_(new QToolButton(this)), typing_(new QTimer(this))
{
    auto* close = new QToolButton(this);
    auto* row = new QHBoxLayout(this);
    const int gap = fontMetrics().height() / 3;
    row->setContentsMargins(2 * gap, gap, 2 * gap, gap);
    row->addWidget(line_, 1);
    row->addWidget(count_label_);
    row->addWidget(previous_);
    row->addWidget(next_);
    row->addWidget(close);
    line_->setPlaceholderText(tr("Find in the text"));
    line_->setAccessibleName(tr("Find in the text"));
    line_->setMaxLength(1000);
    add_clear_button(*line_);
    count_label_->setAccessibleName(tr("Matches"));
    count_label_->setMinimumWidth(fontMetrics().averageCharWidth() * 22);
    const auto dress = [](QToolButton* button, const QString& name, const QString& hint) {
        button->setAutoRaise(true);
        button->setFocusPolicy(Qt::TabFocus);
        button->setAccessibleName(name);
        button->setToolTip(hint);
    };
    previous_->setArrowType(Qt::UpArrow);
    next_->setArrowType(Qt::DownArrow);
    close->setText(QStringLiteral("×"));
    dress(previous_, tr("Previous match"), tr("Previous match (Shift+Enter)"));
    dress(next_, tr("Next match"), tr("Next match (Enter)"));
    dress(close, tr("Close the search"), tr("Close the search (Esc)"));
    connect(close, &QToolButton::clicked, this, &FindBar::close_bar);
    connect(next_, &QToolButton::clicked, this, &FindBar::next);
    connect(previous_, &QToolButton::clicked, this, &FindBar::previous);
    typing_->setSingleShot(true);
    typing_->setInterval(150);
    connect(line_, &QLineEdit::textChanged, typing_, qOverload<>(&QTimer::start));
    connect(typing_, &QTimer::timeout, this, &FindBar::search);
    setFocusProxy(line_);
    hide();
    say();
}

void FindBar::set_source(std::shared_ptr<TextSource> source)
{
    if (source_) source_->disconnect(this);
    source_ = std::move(source);
    if (source_) {
        connect(source_.get(), &TextSource::found, this, &FindBar::take);
        connect(source_.get(), &TextSource::outline_changed, this, [this] {
            if (isHidden() || line_->text().isEmpty()) return;
            search();
            jump_wanted_ = false; // keep the user's place: only a new search jumps to a match
        });
    }
    close_bar();
}

void FindBar::open(const QString& what)
{
    show();
    if (!what.isEmpty()) line_->setText(what);
    line_->selectAll();
    line_->setFocus(Qt::ShortcutFocusReason);
    if (matches_.empty() && !line_->text().isEmpty()) search();
}

void FindBar::close_bar()
{
    const bool had_focus = isAncestorOf(QApplication::focusWidget());
    typing_->stop();
    matches_.clear(), chosen_.reset(), found_ = {}, searching_ = false;
    if (source_) found_.search = source_->find({});
    hide();
    Q_EMIT matches_changed();
    if (had_focus) Q_EMIT closed();
}

void FindBar::search()
{
    typing_->stop();
    if (!source_) return;
    matches_.clear(), chosen_.reset(), found_ = {};
    searching_ = jump_wanted_ = !line_->text().isEmpty();
    found_.search = source_->find(line_->text());
    say();
    Q_EMIT matches_changed();
}

void FindBar::take(const Finding& finding)
{
    if (finding.search != found_.search) return;
    matches_.insert(matches_.end(), finding.matches.begin(), finding.matches.end());
    found_ = finding;
    found_.matches.clear();
    searching_ = !finding.finished;
    Q_EMIT matches_changed();
    const bool ahead = !matches_.empty() && matches_.back().first >= place_;
    if (jump_wanted_ && (ahead || (finding.finished && !matches_.empty()))) {
        jump_wanted_ = false;
        next();
    }
    say();
}

void FindBar::next()
{
    if (typing_->isActive()) return search();
    if (matches_.empty()) return;
    const auto at = std::ranges::lower_bound(matches_, place_, {}, &StreamRange::first);
    const auto found = static_cast<size_t>(at - matches_.begin());
    choose(chosen_ && matches_[*chosen_].first == place_ ? *chosen_ + 1 : found);
}

void FindBar::previous()
{
    if (matches_.empty()) return;
    const auto at = std::ranges::lower_bound(matches_, place_, {}, &StreamRange::first);
    choose(static_cast<size_t>(at - matches_.begin()) + matches_.size() - 1);
}

// Chooses match `index` modulo the number of matches, so that next() and previous() wrap around.
void FindBar::choose(size_t index)
{
    chosen_ = index % matches_.size();
    place_ = matches_[*chosen_].first;
    say();
    Q_EMIT match_chosen(matches_[*chosen_]);
}

QString FindBar::words() const
{
    const QLocale locale;
    QString words;
    if (chosen_)
        words = tr("%1 of %2").arg(count_text(*chosen_ + 1), locale.toString(found_.count));
    else if (!line_->text().isEmpty() && !typing_->isActive())
        words = searching_ || found_.count > 0 ? tr("%n match(es)", nullptr, static_cast<int>(found_.count))
                                               : tr("not found");
    if (searching_) words += tr(", %1 % looked through").arg(locale.toString(static_cast<int>(found_.share * 100)));
    if (found_.unread > 0) words += tr(", a part of the text cannot be read");
    return words;
}

void FindBar::say()
{
    count_label_->setText(words());
    next_->setEnabled(!matches_.empty());
    previous_->setEnabled(!matches_.empty());
}

// Claims Escape while the bar is open, so that it does not trigger a shortcut of the window.
bool FindBar::event(QEvent* event)
{
    if (event->type() != QEvent::ShortcutOverride || static_cast<QKeyEvent*>(event)->key() != Qt::Key_Escape)
        return QWidget::event(event);
    event->accept();
    return true;
}

void FindBar::keyPressEvent(QKeyEvent* event)
{
    switch (event->key()) {
    case Qt::Key_Escape:
        return close_bar();
    case Qt::Key_Return:
    case Qt::Key_Enter:
        return event->modifiers() & Qt::ShiftModifier ? previous() : next();
    default:
        return QWidget::keyPressEvent(event);
    }
}

} // namespace palimpsest::ui
