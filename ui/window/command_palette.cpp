#include "ui/window/command_palette.h"

#include <QAction>
#include <QHeaderView>
#include <QKeyEvent>
#include <QLineEdit>
#include <QPainter>
#include <QStandardItemModel>
#include <QTreeView>
#include <QVBoxLayout>
#include <algorithm>

#include "ui/base/icon.h"
#include "ui/base/theme.h"
#include "ui/window/actions.h"
#include "ui/window/fuzzy_match.h"

namespace palimpsest::ui {
namespace {

struct Candidate {
    QAction* action;
    QString title;
    int score;
};

} // namespace

CommandPalette::CommandPalette(const Actions& actions, QWidget* parent)
    : QDialog(parent, Qt::Dialog | Qt::FramelessWindowHint), actions_(actions), typed_(new QLineEdit(this)),
      model_(new QStandardItemModel(this)), list_(new QTreeView(this))
{
    setWindowTitle(tr("All commands"));
    setAccessibleName(windowTitle());
    typed_->setPlaceholderText(tr("Type some letters of a command"));
    typed_->setAccessibleName(tr("Command"));
    typed_->setAccessibleDescription(tr("Up and Down choose, Enter runs"));
    typed_->installEventFilter(this);
    list_->setModel(model_);
    list_->setAccessibleName(tr("Commands"));
    list_->setRootIsDecorated(false);
    list_->setHeaderHidden(true);
    list_->setAllColumnsShowFocus(true);
    list_->setUniformRowHeights(true);
    list_->setEditTriggers(QAbstractItemView::NoEditTriggers);
    list_->setFrameShape(QFrame::NoFrame);
    list_->setFocusPolicy(Qt::NoFocus);
    auto* column = new QVBoxLayout(this);
    column->addWidget(typed_);
    column->addWidget(list_, 1);
    connect(typed_, &QLineEdit::textChanged, this, &CommandPalette::fill);
    connect(typed_, &QLineEdit::returnPressed, this, [this] { run(list_->currentIndex()); });
    connect(list_, &QTreeView::clicked, this, &CommandPalette::run);
}

void CommandPalette::begin()
{
    typed_->clear();
    fill({});
    const QWidget* over = parentWidget();
    const int width = std::min(over->width() * 9 / 10, fontMetrics().averageCharWidth() * 90);
    resize(width, std::min(over->height() * 3 / 4, fontMetrics().height() * 22));
    move(over->mapToGlobal(QPoint((over->width() - width) / 2, over->height() / 10)));
    show();
    raise();
    activateWindow();
    typed_->setFocus();
}

void CommandPalette::fill(const QString& typed)
{
    std::vector<Candidate> fitting;
    for (QAction* action : actions_.in_menus()) {
        if (!action->isEnabled() || !action->isVisible() || action == actions_[ActionId::CommandPalette]) continue;
        const QString title = plain_text(*action);
        const auto own = fuzzy_match(typed, title);
        const auto with_place = fuzzy_match(typed, actions_.place(action) + u' ' + title);
        if (own || with_place)
            fitting.push_back({action, title, std::max(own.value_or(-1000) + 2, with_place.value_or(-1000))});
    }
    std::stable_sort(fitting.begin(), fitting.end(),
                     [](const auto& a, const auto& b) { return a.score > b.score; });
    model_->clear();
    model_->setColumnCount(3);
    shown_.clear();
    for (const Candidate& candidate : fitting) {
        const QIcon own = candidate.action->icon();
        auto* title = new QStandardItem(own.isNull() ? icon("blank") : own, candidate.title);
        title->setToolTip(candidate.action->statusTip());
        const QString key = key_text(*candidate.action), place = actions_.place(candidate.action);
        title->setAccessibleText(key.isEmpty() ? candidate.title : tr("%1, %2").arg(candidate.title, key));
        auto* key_item = new QStandardItem(key);
        key_item->setTextAlignment(Qt::AlignTrailing | Qt::AlignVCenter);
        model_->appendRow({title, new QStandardItem(place), key_item});
        shown_.append(candidate.action);
    }
    list_->header()->setStretchLastSection(false);
    list_->header()->setSectionResizeMode(0, QHeaderView::Stretch);
    list_->header()->setSectionResizeMode(1, QHeaderView::ResizeToContents);
    list_->header()->setSectionResizeMode(2, QHeaderView::ResizeToContents);
    list_->setCurrentIndex(model_->index(0, 0));
}

void CommandPalette::run(const QModelIndex& index)
{
    const QPointer<QAction> action = index.isValid() ? shown_.value(index.row()) : nullptr;
    if (!action) return;
    accept(); // closes first, so that the window has its previous focus when the action runs
    action->trigger();
}

// The dialog is frameless: draw a border to set it off from the window.
void CommandPalette::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    painter.setPen(separator(palette()));
    painter.drawRect(rect().adjusted(0, 0, -1, -1));
}

bool CommandPalette::eventFilter(QObject* watched, QEvent* event)
{
    if (watched != typed_ || event->type() != QEvent::KeyPress) return QDialog::eventFilter(watched, event);
    const int key = static_cast<QKeyEvent*>(event)->key();
    const int rows = model_->rowCount();
    const int page = std::max(1, list_->viewport()->height() / std::max(1, list_->sizeHintForRow(0)) - 1);
    int to = list_->currentIndex().row();
    if (key == Qt::Key_Down)
        ++to;
    else if (key == Qt::Key_Up)
        --to;
    else if (key == Qt::Key_PageDown)
        to += page;
    else if (key == Qt::Key_PageUp)
        to -= page;
    else
        return QDialog::eventFilter(watched, event);
    if (rows > 0) list_->setCurrentIndex(model_->index(std::clamp(to, 0, rows - 1), 0));
    return true;
}

} // namespace palimpsest::ui
