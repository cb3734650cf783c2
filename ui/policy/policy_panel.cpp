#include "ui/policy/policy_panel.h"

#include <QFormLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QMessageBox>
#include <QPushButton>
#include <QScrollArea>
#include <QShortcut>
#include <QSpinBox>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>

#include "engine/policy/named/registry.h"
#include "engine/policy/policy.h"
#include "ui/base/clear_button.h"
#include "ui/base/quantity.h"
#include "ui/base/wording.h"
#include "ui/policy/parameter_field.h"
#include "ui/policy/policy_delegate.h"
#include "ui/policy/policy_model.h"

namespace palimpsest::ui {
namespace {

// Expands to the space available but has a small size hint, so that budget and memory stay visible.
class PolicyList final : public QListView {
public:
    using QListView::QListView;
    QSize sizeHint() const override { return {fontMetrics().averageCharWidth() * 40, fontMetrics().height() * 8}; }
};

QLabel* wrapped_label(QWidget* parent)
{
    auto* label = new QLabel(parent);
    label->setWordWrap(true);
    label->setTextFormat(Qt::PlainText);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    return label;
}

QString budget_text(const engine::SessionOptions& options)
{
    return options.budget == engine::no_budget ? QStringLiteral("none") : QString::number(options.budget);
}

} // namespace

PolicyPanel::PolicyPanel(QWidget* parent) : QWidget(parent)
{
    setAccessibleName(tr("Policy"));
    auto* content = new QWidget;
    auto* column = new QVBoxLayout(content);
    column->addWidget(make_chooser(), 1);
    column->addWidget(make_fields());
    description_ = wrapped_label(content);
    column->addWidget(description_);
    auto* scroll = new QScrollArea(this);
    scroll->setWidget(content);
    scroll->setWidgetResizable(true);
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    scroll->setFocusPolicy(Qt::NoFocus);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(scroll, 1);
    layout->addWidget(make_buttons());
    set_request(NewSession());
}

QWidget* PolicyPanel::make_chooser()
{
    auto* chooser = new QWidget;
    search_ = new QLineEdit(chooser);
    search_->setObjectName(QStringLiteral("search"));
    search_->setPlaceholderText(tr("Search policies, papers, signals"));
    search_->setAccessibleName(tr("Search policies"));
    add_clear_button(*search_);
    search_->installEventFilter(this);
    found_ = new PolicySearch(this);
    found_->setSourceModel(new PolicyModel(this));
    list_ = new PolicyList(chooser);
    list_->setAccessibleName(tr("Policies"));
    list_->setModel(found_);
    list_->setItemDelegate(new PolicyDelegate(list_));
    list_->setResizeMode(QListView::Adjust);
    list_->setWordWrap(true); // makes item sizes follow the width
    list_->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
    list_->setMinimumHeight(list_->sizeHint().height());
    connect(search_, &QLineEdit::textChanged, this, &PolicyPanel::search);
    connect(list_->selectionModel(), &QItemSelectionModel::currentChanged, this, &PolicyPanel::choose_current);
    auto* column = new QVBoxLayout(chooser);
    column->setContentsMargins(0, 0, 0, 0);
    column->addWidget(search_);
    column->addWidget(list_, 1);
    return chooser;
}

QWidget* PolicyPanel::make_fields()
{
    auto* fields = new QWidget;
    budget_ = new QLineEdit(fields);
    budget_->setObjectName(QStringLiteral("budget"));
    budget_->setAccessibleName(tr("Budget"));
    budget_->setPlaceholderText(tr("the default"));
    budget_->setToolTip(
        tr("Tokens kept per layer and head (2048), memory (512MiB), a share of the text (25%), auto or "
           "auto:512: as many as attention needs, none: as many as the model takes"));
    budget_->setAccessibleDescription(budget_->toolTip());
    chunk_ = new QSpinBox(fields);
    chunk_->setObjectName(QStringLiteral("chunk"));
    chunk_->setRange(1, 1 << 20);
    chunk_->setAccessibleName(tr("Chunk"));
    chunk_->setToolTip(tr("Tokens that are read before the policy decides what leaves"));
    budget_trouble_ = make_trouble_label(fields);
    chunk_trouble_ = make_trouble_label(fields);
    trouble_ = make_trouble_label(fields);
    price_ = wrapped_label(fields);
    options_button_ = new QToolButton(fields);
    options_button_->setCheckable(true);
    options_button_->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    options_button_->setArrowType(Qt::RightArrow);
    options_button_->setAutoRaise(true);
    options_ = new QWidget(fields);
    options_layout_ = new QVBoxLayout(options_);
    options_layout_->setContentsMargins(fontMetrics().averageCharWidth() * 2, 0, 0, 0);
    options_->hide();
    connect(budget_, &QLineEdit::textChanged, this, &PolicyPanel::look);
    connect(chunk_, &QSpinBox::valueChanged, this, &PolicyPanel::look);
    connect(options_button_, &QToolButton::toggled, this, [this](bool open) {
        options_->setVisible(open);
        options_button_->setArrowType(open ? Qt::DownArrow : Qt::RightArrow);
    });
    auto* form = new QFormLayout;
    form->setContentsMargins(0, 0, 0, 0);
    form->addRow(tr("&Budget"), budget_);
    form->addRow(budget_trouble_);
    form->addRow(tr("C&hunk"), chunk_);
    form->addRow(chunk_trouble_);
    auto* column = new QVBoxLayout(fields);
    column->setContentsMargins(0, 0, 0, 0);
    column->addLayout(form);
    column->addWidget(options_button_, 0, Qt::AlignLeft);
    column->addWidget(options_);
    column->addWidget(trouble_);
    column->addWidget(price_);
    return fields;
}

QWidget* PolicyPanel::make_buttons()
{
    auto* buttons = new QWidget;
    auto* defaults = new QPushButton(tr("Restore &defaults"), buttons);
    defaults->setObjectName(QStringLiteral("defaults"));
    const QKeySequence restore(Qt::CTRL | Qt::SHIFT | Qt::Key_R), use(Qt::CTRL | Qt::Key_Return);
    defaults->setToolTip(tr("Budget, chunk and options as the policy has them (%1)")
                             .arg(restore.toString(QKeySequence::NativeText)));
    apply_ = new QPushButton(tr("&Apply"), buttons);
    apply_->setObjectName(QStringLiteral("apply"));
    apply_->setToolTip(tr("Use these settings (%1)").arg(use.toString(QKeySequence::NativeText)));
    connect(defaults, &QPushButton::clicked, this, &PolicyPanel::restore_defaults);
    connect(apply_, &QPushButton::clicked, this, &PolicyPanel::apply);
    new QShortcut(restore, this, this, &PolicyPanel::restore_defaults, Qt::WidgetWithChildrenShortcut);
    new QShortcut(use, this, this, &PolicyPanel::apply, Qt::WidgetWithChildrenShortcut);
    auto* row = new QHBoxLayout(buttons);
    row->addWidget(defaults);
    row->addStretch(1);
    row->addWidget(apply_);
    return buttons;
}

bool PolicyPanel::eventFilter(QObject* watched, QEvent* event)
{
    const bool down = event->type() == QEvent::KeyPress && static_cast<QKeyEvent*>(event)->key() == Qt::Key_Down;
    if (watched != search_ || !down) return QWidget::eventFilter(watched, event);
    list_->setFocus();
    if (!list_->currentIndex().isValid()) list_->setCurrentIndex(found_->index(0, 0));
    return true;
}

// A new width changes the heights of rows, so scroll to the current row after they are laid out.
void PolicyPanel::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    QMetaObject::invokeMethod(
        this, [this] { list_->scrollTo(list_->currentIndex()); }, Qt::QueuedConnection);
}

void PolicyPanel::set_model(const std::shared_ptr<const engine::Model>& model)
{
    model_ = model;
    check_ =
        check_policy(request(), model.get(), session_ ? std::optional(session_->tokens_in_input) : std::nullopt);
    show_check();
}

void PolicyPanel::set_session(std::shared_ptr<const SessionFacts> session)
{
    const bool another =
        session_ && session ? session_->id != session->id || session_->name != session->name : session_ || session;
    session_ = std::move(session);
    if (another) touched_ = false;
    if (touched_) return look();
    if (!session_) return set_request(defaults_);
    NewSession shown;
    shown.policy =
        QString::fromStdString(shortest_spec(session_->options, session_->layers, session_->kv_heads).text());
    shown.budget = budget_text(session_->options);
    shown.chunk = session_->options.chunk;
    set_request(shown);
}

void PolicyPanel::set_defaults(const NewSession& defaults)
{
    defaults_ = defaults;
    if (!session_ && !touched_) set_request(defaults_);
}

NewSession PolicyPanel::request() const
{
    engine::PolicySpec spec{policy_.toStdString(), {}};
    for (const ParameterField* field : parameters_)
        if (!field->value().isEmpty()) spec.parameters[field->key().toStdString()] = field->value().toStdString();
    NewSession request;
    request.policy = QString::fromStdString(spec.text());
    request.budget = budget_->text().trimmed();
    request.chunk = chunk_->value();
    return request;
}

void PolicyPanel::set_request(const NewSession& request)
{
    filling_ = true;
    const QString name = request.policy.section(QLatin1Char(':'), 0, 0);
    search_->clear();
    select(name);
    budget_->setText(request.budget);
    chunk_->setValue(request.chunk);
    try {
        const auto spec = engine::PolicySpec::parse(request.policy.toStdString());
        for (ParameterField* field : parameters_) {
            const auto given = spec.parameters.find(field->key().toStdString());
            field->set_value(given == spec.parameters.end() ? QString() : QString::fromStdString(given->second));
        }
        options_button_->setChecked(!spec.parameters.empty());
    } catch (const Error&) {
        options_button_->setChecked(false); // the specification is malformed, so only the policy's name is shown
    }
    filling_ = false;
    touched_ = false;
    look();
    touched_ = false;
}

void PolicyPanel::select(const QString& policy)
{
    const auto& all = engine::policies();
    const auto known = std::find_if(all.begin(), all.end(),
                                    [&](const auto& info) { return QString::fromStdString(info.name) == policy; });
    if (known == all.end()) return;
    const auto row = static_cast<int>(known - all.begin());
    const QModelIndex index = found_->mapFromSource(found_->sourceModel()->index(row, 0));
    list_->setCurrentIndex(index);
    list_->scrollTo(index);
    if (policy_ != policy) show_policy(*known);
}

// Filters the list; the selected policy stays selected even if the filter hides it.
void PolicyPanel::search(const QString& words)
{
    searching_ = true;
    found_->search(words);
    list_->setCurrentIndex({});
    for (int row = 0; row < found_->rowCount(); ++row)
        if (const QModelIndex index = found_->index(row, 0); index.data().toString() == policy_)
            list_->setCurrentIndex(index);
    searching_ = false;
}

void PolicyPanel::choose_current()
{
    const QModelIndex index = list_->currentIndex();
    if (searching_ || !index.isValid()) return;
    const QString name = index.data().toString();
    if (name == policy_) return;
    show_policy(*engine::find_policy(name.toStdString()));
    look();
}

void PolicyPanel::show_policy(const engine::PolicyInfo& info)
{
    policy_ = QString::fromStdString(info.name);
    description_->setText(tr("%1\nSignals: %2\nCost: %3\nPositions: %4\nPaper: %5")
                              .arg(shown(info.keeps), shown(info.signals), shown(info.cost), shown(info.positions),
                                   shown(info.paper)));
    for (ParameterField* field : parameters_)
        delete field;
    parameters_.clear();
    for (const engine::ParameterInfo& parameter : info.parameters) {
        auto* field = new ParameterField(parameter, options_);
        connect(field, &ParameterField::changed, this, &PolicyPanel::look);
        options_layout_->addWidget(field);
        parameters_.push_back(field);
    }
    options_button_->setText(tr("Options of %1 (%2)").arg(policy_).arg(parameters_.size()));
}

void PolicyPanel::look()
{
    if (filling_) return;
    touched_ = true;
    const auto model = model_.lock();
    check_ =
        check_policy(request(), model.get(), session_ ? std::optional(session_->tokens_in_input) : std::nullopt);
    show_check();
}

void PolicyPanel::show_check()
{
    using Field = PolicyCheck::Field;
    const auto sentence_at = [&](Field field) { return check_.field == field ? check_.sentence : QString(); };
    show_trouble(*budget_trouble_, sentence_at(Field::Budget));
    show_trouble(*chunk_trouble_, sentence_at(Field::Chunk));
    show_trouble(*trouble_, sentence_at(Field::Policy));
    for (ParameterField* field : parameters_) {
        const bool guilty = check_.field == Field::Parameter && field->key() == check_.parameter;
        field->set_trouble(guilty ? check_.sentence : QString());
        if (guilty) options_button_->setChecked(true);
    }
    apply_->setEnabled(check_.good());
    price_->setVisible(check_.good());
    price_->setText(price());
}

QString PolicyPanel::price() const
{
    if (!check_.options) return tr("Open a model to see what this takes of memory.");
    if (!check_.cache_bytes) return tr("How much memory a share takes is known once the length of the text is.");
    const QString memory = bytes_text(*check_.cache_bytes);
    if (check_.capacity)
        return tr("Has room for %1 tokens per layer and head: the cache takes %2 with this model, as much as a "
                  "full "
                  "one.")
            .arg(count_text(*check_.capacity), memory);
    return tr("Keeps %1 tokens per layer and head: the cache takes %2 with this model.")
        .arg(count_text(static_cast<uint64_t>(check_.options->budget)), memory);
}

void PolicyPanel::restore_defaults()
{
    filling_ = true;
    const NewSession defaults;
    budget_->setText(defaults.budget);
    chunk_->setValue(defaults.chunk);
    for (ParameterField* field : parameters_)
        field->set_value({});
    filling_ = false;
    look();
}

void PolicyPanel::apply()
{
    if (!check_.good()) return;
    if (session_) return ask(request());
    touched_ = false;
    Q_EMIT apply_wanted(request(), true);
}

void PolicyPanel::ask(const NewSession& request)
{
    auto* question = new QMessageBox(QMessageBox::Question, tr("Change the policy"),
                                     tr("How should “%1” go on with %2?").arg(session_->name, request.policy),
                                     QMessageBox::Cancel, this);
    question->setAttribute(Qt::WA_DeleteOnClose);
    question->setInformativeText(tr(
        "What was evicted cannot come back. A copy reads the documents again from the beginning and keeps what the "
        "new settings keep; this session stays as it is. Going on keeps what is held now, and the new settings "
        "decide from here."));
    auto* copy = question->addButton(tr("&Start a copy"), QMessageBox::AcceptRole);
    auto* go_on = question->addButton(tr("&Go on from here"), QMessageBox::AcceptRole);
    question->setDefaultButton(copy);
    connect(question, &QMessageBox::buttonClicked, this, [=, this, asked = session_->id](QAbstractButton* pressed) {
        if ((pressed != copy && pressed != go_on) || !session_ || session_->id != asked) return;
        touched_ = false; // show the session's new settings when they arrive
        Q_EMIT apply_wanted(request, pressed == copy);
    });
    question->open();
}

} // namespace palimpsest::ui
