#include "ui/compare/compare_view.h"

#include <QClipboard>
#include <QComboBox>
#include <QFileDialog>
#include <QFileInfo>
#include <QGridLayout>
#include <QGuiApplication>
#include <QHeaderView>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QScrollArea>
#include <QSortFilterProxyModel>
#include <QSpinBox>
#include <QSplitter>
#include <QTabWidget>
#include <QTableView>
#include <QVBoxLayout>
#include <algorithm>

#include "engine/policy/named/registry.h"
#include "ui/base/chart.h"
#include "ui/base/quantity.h"
#include "ui/base/table_text.h"
#include "ui/base/wording.h"
#include "ui/compare/compare_export.h"
#include "ui/compare/compare_table.h"
#include "ui/policy/parameter_field.h"
#include "ui/policy/policy_check.h"
#include "ui/policy/policy_model.h"

namespace palimpsest::ui {
namespace {

QComboBox* make_policy_choice(QWidget* parent)
{
    auto* choice = new QComboBox(parent);
    choice->setEditable(true);
    choice->setInsertPolicy(QComboBox::NoInsert);
    for (const engine::PolicyInfo& info : engine::policies()) {
        choice->addItem(QString::fromStdString(info.name));
        choice->setItemData(choice->count() - 1, shown(info.keeps), Qt::ToolTipRole);
    }
    return choice;
}

std::vector<ChartLine> lines_of(const CompareState& state, bool overlaps)
{
    std::vector<ChartLine> lines;
    for (size_t i = overlaps ? 1 : 0; i < state.results.size(); ++i) {
        ChartLine line{contender_name(state.results[i]), {}, static_cast<int>(i)};
        for (const auto& [tokens, step] : state.results[i].steps.entries())
            if (!overlaps || step.overlap)
                line.points.emplace_back(static_cast<double>(tokens), overlaps ? *step.overlap : step.perplexity);
        lines.push_back(std::move(line));
    }
    return lines;
}

// Returns the range of the curves after the first quarter of the text. Perplexity is much higher before; an axis
// for all of it would make the final values look equal.
std::pair<std::optional<double>, std::optional<double>> range_after_start(const std::vector<ChartLine>& lines)
{
    double end = 0;
    for (const ChartLine& line : lines)
        if (!line.points.empty()) end = std::max(end, line.points.back().x());
    std::optional<double> least, most;
    for (const ChartLine& line : lines)
        for (const QPointF& p : line.points) {
            if (p.x() < end / 4) continue;
            least = std::min(least.value_or(p.y()), p.y());
            most = std::max(most.value_or(p.y()), p.y());
        }
    if (!least) return {};
    const double margin = std::max(0.06 * (*most - *least), 0.001 * *most);
    return {*least - margin, *most + margin};
}

ChartAxis tokens_axis()
{
    return {.title = CompareView::tr("Tokens read"),
            .text = [](double value) { return count_text(static_cast<uint64_t>(value)); },
            .least = 0.0};
}

} // namespace

CompareView::CompareView(QWidget* parent, MakeCompareMap make_map) : QWidget(parent), make_map_(std::move(make_map))
{
    setAccessibleName(tr("Compare"));
    nothing_ =
        new QLabel(tr("Each policy reads the same text, chunk by chunk in turn, and the curves grow while they "
                      "do: what each keeps, how well the model still predicts the text, and what that takes."));
    nothing_->setWordWrap(true);
    nothing_->setAlignment(Qt::AlignCenter);
    nothing_->setMargin(fontMetrics().height() * 2);
    auto* layout = new QVBoxLayout(this);
    layout->addWidget(make_setup());
    layout->addWidget(nothing_, 1);
    layout->addWidget(make_results(), 1);
    connect(&files_, &FileWriter::ended, this, &CompareView::export_ended);
    set_choices({{QStringLiteral("treekv"), {}}, {QStringLiteral("streaming"), {}}});
    set_session(nullptr);
}

QWidget* CompareView::make_setup()
{
    auto* setup = new QWidget(this);
    source_ = new QComboBox(setup);
    source_->setAccessibleName(tr("Text to read"));
    source_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    source_->setMinimumContentsLength(24);
    file_ = new QPushButton(tr("&File…"), setup);
    file_->setToolTip(tr("Read a file instead of the open session's documents"));
    connect(file_, &QPushButton::clicked, this, &CompareView::choose_file);
    chunk_ = new QSpinBox(setup);
    chunk_->setObjectName(QStringLiteral("chunk"));
    chunk_->setRange(1, 1 << 20);
    chunk_->setValue(CompareRequest().chunk);
    chunk_->setAccessibleName(tr("Chunk"));
    chunk_->setToolTip(tr("Tokens that are read before each policy decides what leaves"));
    auto* text = new QLabel(tr("&Text"), setup);
    text->setBuddy(source_);
    auto* chunk = new QLabel(tr("C&hunk"), setup);
    chunk->setBuddy(chunk_);
    auto* first = new QHBoxLayout;
    first->addWidget(text);
    first->addWidget(source_, 1);
    first->addWidget(file_);
    first->addSpacing(fontMetrics().averageCharWidth() * 2);
    first->addWidget(chunk);
    first->addWidget(chunk_);
    auto* column = new QVBoxLayout(setup);
    column->setContentsMargins(0, 0, 0, 0);
    column->addLayout(first);
    for (int number = 0; number < most_contenders; ++number)
        column->addWidget(make_row(number));
    add_ = new QPushButton(tr("A&dd a policy"), setup);
    start_ = new QPushButton(tr("&Start"), setup);
    start_->setToolTip(tr("Read the text with all of them (%1)")
                           .arg(QKeySequence(Qt::CTRL | Qt::Key_Return).toString(QKeySequence::NativeText)));
    stop_ = new QPushButton(tr("Sto&p"), setup);
    stop_->setToolTip(tr("Stop reading (Esc)"));
    progress_ = new QProgressBar(setup);
    progress_->setRange(0, 1000);
    progress_->setTextVisible(false);
    progress_->setAccessibleName(tr("Progress of the comparison"));
    left_ = new QLabel(setup);
    connect(add_, &QPushButton::clicked, this, &CompareView::add_row);
    connect(start_, &QPushButton::clicked, this, &CompareView::start);
    connect(stop_, &QPushButton::clicked, this, &CompareView::stop);
    auto* last = new QHBoxLayout;
    last->addWidget(add_);
    last->addWidget(progress_, 1);
    last->addWidget(left_);
    last->addStretch(0);
    last->addWidget(stop_);
    last->addWidget(start_);
    column->addLayout(last);
    trouble_ = make_trouble_label(setup);
    column->addWidget(trouble_);
    return setup;
}

QWidget* CompareView::make_row(int number)
{
    Row& row = rows_[static_cast<size_t>(number)];
    row.widget = new QWidget(this);
    row.policy = make_policy_choice(row.widget);
    row.policy->setObjectName(QStringLiteral("policy-%1").arg(number));
    row.policy->setAccessibleName(tr("Policy %1").arg(number + 1));
    row.policy->setToolTip(tr("A name, or with parameters: name:key=value,key=value"));
    row.budget = new QLineEdit(row.widget);
    row.budget->setObjectName(QStringLiteral("budget-%1").arg(number));
    row.budget->setAccessibleName(tr("Budget %1").arg(number + 1));
    row.budget->setPlaceholderText(tr("budget: the default"));
    row.budget->setToolTip(tr("Tokens kept per layer and head (2048), memory (512MiB), a share (25%), auto, none"));
    row.remove = new QPushButton(tr("Remove"), row.widget);
    row.remove->setAccessibleName(tr("Remove policy %1").arg(number + 1));
    row.trouble = make_trouble_label(row.widget);
    connect(row.policy, &QComboBox::editTextChanged, this, &CompareView::check_rows);
    connect(row.budget, &QLineEdit::textChanged, this, &CompareView::check_rows);
    connect(row.remove, &QPushButton::clicked, this, [this, number] { remove_row(number); });
    auto* label = new QLabel(QLocale().toString(number + 1), row.widget);
    label->setBuddy(row.policy);
    auto* grid = new QGridLayout(row.widget);
    grid->setContentsMargins(0, 0, 0, 0);
    grid->addWidget(label, 0, 0);
    grid->addWidget(row.policy, 0, 1);
    grid->addWidget(row.budget, 0, 2);
    grid->addWidget(row.remove, 0, 3);
    grid->addWidget(row.trouble, 1, 1, 1, 3);
    grid->setColumnStretch(1, 2);
    grid->setColumnStretch(2, 1);
    return row.widget;
}

QWidget* CompareView::make_results()
{
    maps_area_ = new QWidget;
    maps_layout_ = new QVBoxLayout(maps_area_);
    maps_layout_->setContentsMargins(0, 0, 0, 0);
    auto* scroll = new QScrollArea;
    scroll->setWidget(maps_area_);
    scroll->setWidgetResizable(true);
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setFocusPolicy(Qt::NoFocus);
    scroll->setVisible(static_cast<bool>(make_map_));
    perplexity_ = new Chart(tr("Perplexity over the tokens read"));
    perplexity_->setObjectName(QStringLiteral("perplexity"));
    overlap_ = new Chart(tr("Overlap over the tokens read"));
    overlap_->setObjectName(QStringLiteral("overlap"));
    overlap_->set_axes(tokens_axis(), {.title = tr("Overlap with what the first keeps"),
                                       .text = [](double value) { return share_text(value); },
                                       .least = 0.0,
                                       .most = 1.0});
    auto* charts = new QSplitter(Qt::Horizontal);
    charts->addWidget(perplexity_);
    charts->addWidget(overlap_);
    results_ = new QSplitter(Qt::Vertical);
    results_->setChildrenCollapsible(false);
    results_->addWidget(scroll);
    auto* numbers = new QTabWidget;
    numbers->setAccessibleName(tr("Curves and results"));
    numbers->addTab(charts, tr("C&urves"));
    numbers->addTab(make_table(), tr("&Results"));
    results_->addWidget(numbers);
    results_->setStretchFactor(0, 3);
    results_->setStretchFactor(1, 2);
    const int line = fontMetrics().height();
    results_->setSizes({make_map_ ? 24 * line : 0, 14 * line});
    results_->hide();
    return results_;
}

QWidget* CompareView::make_table()
{
    auto* area = new QWidget;
    table_ = new CompareTable(this);
    sorted_ = new QSortFilterProxyModel(this);
    sorted_->setSourceModel(table_);
    sorted_->setSortRole(RawRole);
    table_view_ = new QTableView(area);
    table_view_->setAccessibleName(tr("Results"));
    table_view_->setModel(sorted_);
    make_plain_table(*table_view_);
    table_view_->setSortingEnabled(true);
    table_view_->sortByColumn(-1, Qt::AscendingOrder);
    table_view_->horizontalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
    table_view_->horizontalHeader()->setStretchLastSection(true);
    table_view_->setMinimumHeight(table_view_->verticalHeader()->defaultSectionSize() * (most_contenders + 1) +
                                  fontMetrics().height());
    copy_ = new QPushButton(tr("&Copy as CSV"), area);
    export_ = new QPushButton(tr("&Export as JSON…"), area);
    connect(copy_, &QPushButton::clicked, this, &CompareView::copy_csv);
    connect(export_, &QPushButton::clicked, this, &CompareView::choose_export);
    auto* buttons = new QHBoxLayout;
    buttons->addStretch(1);
    buttons->addWidget(copy_);
    buttons->addWidget(export_);
    auto* column = new QVBoxLayout(area);
    column->setContentsMargins(0, 0, 0, 0);
    column->addWidget(table_view_, 1);
    column->addLayout(buttons);
    return area;
}

void CompareView::set_model(const std::shared_ptr<const engine::Model>& model)
{
    model_ = model;
    check_rows();
}

void CompareView::set_session(std::shared_ptr<const SessionFacts> session)
{
    session_ = std::move(session);
    const bool has_text = session_ && !session_->documents.empty();
    const QString text =
        has_text ? tr("Open session: %1, %2 tokens").arg(session_->name, count_text(session_->tokens_in_input))
                 : tr("No session is open: choose a file");
    if (source_->count() == 0)
        source_->addItem(text);
    else
        source_->setItemText(0, text);
    check_rows();
}

void CompareView::set_file(const QString& file)
{
    while (source_->count() > 1)
        source_->removeItem(1);
    source_->addItem(tr("File: %1").arg(QFileInfo(file).fileName()), file);
    source_->setCurrentIndex(1);
    check_rows();
}

void CompareView::choose_file()
{
    auto* dialog = new QFileDialog(this, tr("A text to compare on"));
    dialog->setFileMode(QFileDialog::ExistingFile);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, &QFileDialog::fileSelected, this, &CompareView::set_file);
    dialog->open();
}

void CompareView::set_choices(const std::vector<CompareRequest::Choice>& choices)
{
    for (size_t i = 0; i < choices.size() && i < rows_.size(); ++i) {
        rows_[i].policy->setEditText(choices[i].policy);
        rows_[i].budget->setText(choices[i].budget);
    }
    show_rows(static_cast<int>(choices.size()));
}

CompareRequest CompareView::request() const
{
    CompareRequest request;
    request.file = source_->currentData().toString();
    request.chunk = chunk_->value();
    if (!request.file.isEmpty()) {
        request.what = QFileInfo(request.file).fileName();
    } else if (session_) {
        request.what = session_->name;
        for (const DocumentPart& part : session_->documents)
            request.documents.push_back(part.info);
    }
    for (int i = 0; i < row_count_; ++i) {
        const Row& row = rows_[static_cast<size_t>(i)];
        request.choices.push_back({row.policy->currentText().trimmed(), row.budget->text().trimmed()});
    }
    return request;
}

void CompareView::add_row()
{
    if (row_count_ >= most_contenders) return;
    const Row& row = rows_[static_cast<size_t>(row_count_)];
    row.budget->setText(rows_[static_cast<size_t>(row_count_) - 1].budget->text());
    show_rows(row_count_ + 1);
    row.policy->setFocus();
}

void CompareView::remove_row(int row)
{
    auto choices = request().choices;
    if (static_cast<int>(choices.size()) <= fewest_contenders) return;
    choices.erase(choices.begin() + row);
    set_choices(choices);
    rows_[static_cast<size_t>(std::min(row, row_count_ - 1))].policy->setFocus();
}

void CompareView::show_rows(int count)
{
    row_count_ = std::clamp(count, fewest_contenders, most_contenders);
    for (int i = 0; i < most_contenders; ++i)
        rows_[static_cast<size_t>(i)].widget->setVisible(i < row_count_);
    check_rows();
}

bool CompareView::check_rows()
{
    const auto model = model_.lock();
    const bool of_session = source_->currentData().toString().isEmpty() && session_;
    const auto length = of_session ? std::optional(session_->tokens_in_input) : std::nullopt;
    bool good = true;
    const CompareRequest wanted = request();
    for (size_t i = 0; i < wanted.choices.size(); ++i) {
        NewSession request;
        request.policy = wanted.choices[i].policy;
        request.budget = wanted.choices[i].budget;
        request.chunk = wanted.chunk;
        const PolicyCheck check = check_policy(request, model.get(), length);
        const bool in_part = check.good() && check.capacity && length && *check.capacity < *length;
        show_trouble(*rows_[i].trouble,
                     in_part ? tr("It keeps every token, and will read only the first %1 of the text.")
                                   .arg(count_text(*check.capacity))
                             : check.sentence);
        good = good && check.good();
    }
    enable();
    return good;
}

void CompareView::enable()
{
    for (const Row& row : rows_) {
        row.policy->setEnabled(!running_);
        row.budget->setEnabled(!running_);
        row.remove->setEnabled(!running_ && row_count_ > fewest_contenders);
    }
    source_->setEnabled(!running_);
    file_->setEnabled(!running_);
    chunk_->setEnabled(!running_);
    add_->setEnabled(!running_ && row_count_ < most_contenders);
    start_->setVisible(!running_);
    stop_->setVisible(running_);
    progress_->setVisible(running_);
    const bool has_results = state_ != nullptr;
    copy_->setEnabled(has_results);
    export_->setEnabled(has_results && !running_);
}

void CompareView::start()
{
    if (running_) return;
    const CompareRequest wanted = request();
    if (wanted.file.isEmpty() && wanted.documents.empty())
        return show_trouble(*trouble_,
                            tr("There is no text to read: open a session with a document, or choose a file."));
    if (!check_rows())
        return show_trouble(*trouble_, tr("A policy or a budget is not possible: see the sentence beside it."));
    show_trouble(*trouble_, {});
    Q_EMIT start_wanted(wanted);
}

void CompareView::stop()
{
    if (running_) Q_EMIT stop_wanted();
}

void CompareView::begin()
{
    forget();
    running_ = true;
    progress_->setRange(0, 0);
    left_->setText(tr("waits for its turn"));
    show_trouble(*trouble_, {});
    enable();
    stop_->setFocus();
}

void CompareView::end(const QString& trouble)
{
    const bool had_focus = stop_->hasFocus();
    running_ = false;
    const bool stopped = state_ && state_->phase == CompareState::Phase::Stopped;
    left_->setText(stopped ? tr("stopped at %1").arg(share_text(state_->share)) : QString());
    show_trouble(*trouble_, trouble);
    enable();
    if (had_focus) start_->setFocus();
}

void CompareView::show_state(std::shared_ptr<const CompareState> state)
{
    if (!state) return;
    const bool anew = !state_ || state_->results.size() != state->results.size();
    if (anew) forget();
    state_ = std::move(state);
    nothing_->hide();
    results_->show();
    if (anew) make_maps();
    for (size_t i = 0; i < maps_.size(); ++i) {
        captions_[i]->setText(tr("Tokens kept by %1").arg(contender_name(state_->results[i])));
        maps_[i].widget->setAccessibleName(captions_[i]->text());
        const QString title =
            QStringLiteral("%1 · %2").arg(QString::fromStdString(state_->what), contender_name(state_->results[i]));
        maps_[i].show(state_->results[i].kept, state_->tokens_total, title);
    }
    progress_->setRange(0, 1000);
    progress_->setValue(static_cast<int>(1000 * state_->share));
    if (state_->seconds_left)
        left_->setText(tr("%1, %2 left").arg(share_text(state_->share), duration_text(*state_->seconds_left)));
    table_->show(state_);
    show_charts();
    enable();
}

void CompareView::show_charts()
{
    auto lines = lines_of(*state_, false);
    const auto [least, most] = range_after_start(lines);
    perplexity_->set_axes(tokens_axis(), {.title = tr("Perplexity so far, lower is better"),
                                          .text = [](double value) { return number_text(value, 2); },
                                          .least = least,
                                          .most = most});
    perplexity_->set_lines(std::move(lines));
    overlap_->set_lines(lines_of(*state_, true));
}

void CompareView::forget()
{
    state_.reset();
    table_->show(nullptr);
    for (const CompareMap& map : maps_)
        delete map.widget;
    qDeleteAll(captions_);
    maps_.clear();
    captions_.clear();
    results_->hide();
    nothing_->show();
}

void CompareView::make_maps()
{
    if (!make_map_) return;
    for (size_t i = 0; i < state_->results.size(); ++i) {
        maps_.push_back(make_map_(maps_area_, i + 1 == state_->results.size())); // only the last map has a legend
        CompareMap& map = maps_.back();
        captions_.push_back(new QLabel(maps_area_));
        captions_.back()->setTextFormat(Qt::PlainText);
        maps_layout_->addWidget(captions_.back());
        maps_layout_->addWidget(map.widget, std::max(1, map.widget->minimumHeight()));
        if (map.when_range_changes)
            map.when_range_changes([this, i](double first, double last) { share_range(i, first, last); });
        if (map.write_with) map.write_with(files_);
    }
}

void CompareView::share_range(size_t from, double first, double last)
{
    for (size_t i = 0; i < maps_.size(); ++i)
        if (i != from && maps_[i].show_range) maps_[i].show_range(first, last);
}

void CompareView::copy_csv()
{
    QGuiApplication::clipboard()->setText(csv_of(*sorted_));
}

void CompareView::choose_export()
{
    if (!state_) return;
    auto* dialog = new QFileDialog(this, tr("Export the comparison"), {}, tr("JSON (*.json)"));
    dialog->setAcceptMode(QFileDialog::AcceptSave);
    dialog->setDefaultSuffix(QStringLiteral("json"));
    dialog->selectFile(tr("comparison") + QStringLiteral(".json"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, &QFileDialog::fileSelected, this,
            [this, state = state_](const QString& file) { files_.write(file, comparison_file(state)); });
    dialog->open();
}

void CompareView::keyPressEvent(QKeyEvent* event)
{
    const bool enter = event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter;
    if (enter && event->modifiers().testFlag(Qt::ControlModifier)) return start();
    if (event->key() == Qt::Key_Escape && running_) return stop();
    QWidget::keyPressEvent(event);
}

} // namespace palimpsest::ui
