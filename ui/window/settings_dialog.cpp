#include "ui/window/settings_dialog.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDialogButtonBox>
#include <QDir>
#include <QDoubleSpinBox>
#include <QFileDialog>
#include <QFormLayout>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QLocale>
#include <QMessageBox>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSpinBox>
#include <QStackedWidget>
#include <QTableWidget>
#include <QVBoxLayout>
#include <algorithm>

#include "engine/policy/named/registry.h"
#include "ui/base/icon.h"
#include "ui/base/wording.h"
#include "ui/policy/policy_check.h"
#include "ui/window/device_choice.h"
#include "ui/window/places_table.h"
#include "ui/window/seed_field.h"

namespace palimpsest::ui {
namespace {

constexpr int field_characters = 20;
constexpr int system_prompt_lines = 4;

// The range includes `value`, even if it is not within `least` and `most`, so that a stored value is shown
// unchanged.
QSpinBox* make_number(int value, int least, int most, int step = 1)
{
    auto* field = new QSpinBox;
    field->setRange(std::min(least, value), std::max(most, value));
    field->setSingleStep(step);
    field->setGroupSeparatorShown(true);
    field->setValue(value);
    return field;
}

int decimals_of(double value)
{
    const QString shortest = QString::number(value, 'f', QLocale::FloatingPointShortest);
    return static_cast<int>(shortest.section(u'.', 1).size());
}

QDoubleSpinBox* make_real(double value, double least, double most)
{
    auto* field = new QDoubleSpinBox;
    field->setDecimals(std::max(2, decimals_of(value)));
    field->setRange(std::min(least, value), std::max(most, value));
    field->setSingleStep(0.05);
    field->setValue(value);
    return field;
}

QLabel* make_note(const QString& text)
{
    auto* note = new QLabel(text);
    note->setWordWrap(true);
    note->setTextFormat(Qt::PlainText);
    return note;
}

// Adds a row; the label is also the accessible name of the field.
void add_row(QFormLayout& form, const QString& label, QWidget* field, const QString& tip = {})
{
    form.addRow(label, field);
    field->setMinimumWidth(field->fontMetrics().averageCharWidth() * field_characters); // the same for all
    const QString name = QString(label).remove(u'&').remove(u':');
    if (field->accessibleName().isEmpty()) field->setAccessibleName(name);
    field->setToolTip(tip);
    field->setAccessibleDescription(tip);
}

} // namespace

SettingsDialog::SettingsDialog(const Preferences& preferences, const SettingsFacts& facts, QWidget* parent)
    : QDialog(parent), given_(preferences), pages_(new QListWidget(this)), stack_(new QStackedWidget(this)),
      problem_(new QLabel(this))
{
    setWindowTitle(tr("Settings"));
    pages_->setAccessibleName(tr("Pages of settings"));
    pages_->setFrameShape(QFrame::NoFrame);
    pages_->setSpacing(fontMetrics().height() / 6);
    pages_->setIconSize(QSize(fontMetrics().height(), fontMetrics().height()));
    problem_->setTextFormat(Qt::PlainText);
    problem_->setWordWrap(true);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Ok | QDialogButtonBox::Cancel, this);
    ok_ = buttons->button(QDialogButtonBox::Ok);
    build_models(facts);
    build_reading();
    build_window(facts);
    build_privacy(facts);
    connect(pages_, &QListWidget::currentRowChanged, stack_, &QStackedWidget::setCurrentIndex);
    connect(buttons, &QDialogButtonBox::accepted, this, &QDialog::accept);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    pages_->setCurrentRow(0);
    pages_->setFixedWidth(pages_->sizeHintForColumn(0) + 3 * fontMetrics().averageCharWidth());
    auto* row = new QHBoxLayout;
    row->addWidget(pages_);
    row->addWidget(stack_, 1);
    auto* column = new QVBoxLayout(this);
    column->addLayout(row, 1);
    column->addWidget(problem_);
    column->addWidget(buttons);
    resize(fontMetrics().averageCharWidth() * 125, fontMetrics().height() * 30);
    check();
}

QFormLayout* SettingsDialog::add_page(const char* symbol, const QString& title)
{
    auto* page = new QWidget(stack_);
    auto* form = new QFormLayout(page);
    form->setFieldGrowthPolicy(QFormLayout::ExpandingFieldsGrow);
    form->setRowWrapPolicy(QFormLayout::WrapLongRows);
    stack_->addWidget(page);
    new QListWidgetItem(icon(symbol), title, pages_);
    return form;
}

QWidget* SettingsDialog::with_browse(QLineEdit* field, bool folder, const QString& title)
{
    auto* both = new QWidget;
    auto* browse = new QPushButton(tr("Choose…"));
    browse->setAccessibleName(title);
    both->setFocusProxy(field);
    connect(browse, &QPushButton::clicked, this, [=, this] {
        const QString start = field->text().isEmpty() ? field->placeholderText() : field->text();
        const QString chosen = folder ? QFileDialog::getExistingDirectory(this, title, start)
                                      : QFileDialog::getSaveFileName(this, title, start, {}, nullptr,
                                                                     QFileDialog::DontConfirmOverwrite);
        if (!chosen.isEmpty()) field->setText(QDir::toNativeSeparators(chosen));
    });
    auto* row = new QHBoxLayout(both);
    row->setContentsMargins(0, 0, 0, 0);
    row->addWidget(field, 1);
    row->addWidget(browse);
    return both;
}

void SettingsDialog::build_models(const SettingsFacts& facts)
{
    QFormLayout* form = add_page("model", tr("Models"));
    models_folder_ = new QLineEdit(given_.models_folder);
    models_folder_->setPlaceholderText(facts.usual_models_folder);
    models_folder_->setAccessibleName(tr("Folder with models"));
    device_ = new QComboBox;
    fill_devices(*device_, given_.model.device);
    threads_ = make_number(given_.model.threads, 0, 1024);
    threads_->setSpecialValueText(tr("As many as there are cores"));
    add_row(*form, tr("&Folder with models:"),
            with_browse(models_folder_, true, tr("Choose the folder with models")),
            tr(".gguf files, and Hugging Face folders"));
    add_row(*form, tr("&Device:"), device_, tr("Where the model computes"));
    add_row(*form, tr("CPU &threads:"), threads_, tr("Answers are the same for any number"));
    form->addRow(
        make_note(tr("The model itself is chosen in the tool bar. All of it takes effect with the next model "
                     "that is loaded.")));
}

void SettingsDialog::build_reading()
{
    QFormLayout* form = add_page("policy", tr("Reading and answers"));
    policy_ = new QComboBox;
    policy_->setEditable(true); // the user can add parameters, as in --policy
    for (const engine::PolicyInfo& policy : engine::policies()) {
        policy_->addItem(QString::fromStdString(policy.name));
        policy_->setItemData(policy_->count() - 1, shown(policy.keeps), Qt::ToolTipRole);
    }
    policy_->setCurrentText(given_.policy);
    budget_ = new QLineEdit(given_.budget);
    budget_->setPlaceholderText(tr("automatic"));
    chunk_ = make_number(given_.chunk, 1, 1 << 20, 64);
    snapshot_ = new QComboBox;
    snapshot_->addItem(tr("exact"), QStringLiteral("exact"));
    snapshot_->addItem(tr("rounded to 8 bits, about half the size"), QStringLiteral("q8"));
    snapshot_->addItem(tr("rounded to 4 bits, about a third of the size"), QStringLiteral("q4"));
    snapshot_->setCurrentIndex(std::max(0, snapshot_->findData(given_.snapshot)));
    system_ = new QPlainTextEdit(given_.system);
    system_->setTabChangesFocus(true);
    system_->setPlaceholderText(tr("the model's own, if it has one"));
    system_->setFixedHeight(system_->fontMetrics().lineSpacing() * system_prompt_lines);
    temperature_ = make_real(given_.sampling.temperature, 0, 100);
    top_p_ = make_real(given_.sampling.top_p, 0.01, 1);
    min_p_ = make_real(given_.sampling.min_p, 0, 1);
    top_k_ = make_number(given_.sampling.top_k, 0, 1 << 20);
    top_k_->setSpecialValueText(tr("off"));
    repeat_penalty_ = make_real(given_.sampling.repeat_penalty, 0.01, 100);
    seed_ = new SeedField(given_.sampling.seed);
    max_tokens_ = make_number(given_.max_tokens, 1, 1 << 20, 64);
    rereads_ = new QCheckBox(tr("Read again what a &question is about and is hardly held"));
    rereads_->setChecked(given_.rereads);
    answers_from_sentences_ = new QCheckBox(tr("&Answer it from the sentences found alone"));
    answers_from_sentences_->setChecked(given_.answers_from_sentences);
    answers_from_sentences_->setEnabled(given_.rereads);
    answers_from_sentences_->setToolTip(
        tr("A small model is confused by all that its cache holds of a long text; a large one may gain from it"));
    answers_from_sentences_->setAccessibleDescription(answers_from_sentences_->toolTip());
    connect(rereads_, &QCheckBox::toggled, answers_from_sentences_, &QWidget::setEnabled);
    writes_notes_ = new QCheckBox(tr("&Write notes while reading"));
    writes_notes_->setChecked(given_.writes_notes);
    writes_notes_->setToolTip(
        tr("The outline then says in a few words what each section is about. Reading takes about twice as long"));
    writes_notes_->setAccessibleDescription(writes_notes_->toolTip());
    suggests_questions_ = new QCheckBox(tr("Su&ggest questions about a text that has notes"));
    suggests_questions_->setChecked(given_.suggests_questions);
    add_row(*form, tr("&Policy of new sessions:"), policy_, tr("What decides which tokens are kept"));
    add_row(*form, tr("&Budget:"), budget_,
            tr("Tokens kept per layer and head, such as 2048; or memory, such as 512MiB; or a share, such as 25%"));
    add_row(*form, tr("C&hunk:"), chunk_, tr("Tokens read at a time"));
    add_row(*form, tr("Saved &caches:"), snapshot_,
            tr("A new session that goes on from a rounded cache may answer otherwise"));
    add_row(*form, tr("S&ystem prompt:"), system_,
            tr("How the model is to answer in new sessions; a session keeps the one it was begun with"));
    add_row(*form, tr("&Temperature:"), temperature_, tr("0: always the most likely word"));
    add_row(*form, tr("Top-&p:"), top_p_, tr("1: off"));
    add_row(*form, tr("&Min-p:"), min_p_, tr("0: off"));
    add_row(*form, tr("Top-&k:"), top_k_, tr("0: off"));
    add_row(*form, tr("&Repeat penalty:"), repeat_penalty_, tr("1: off"));
    add_row(*form, tr("&Seed:"), seed_, tr("The same seed gives the same answer"));
    add_row(*form, tr("&Longest answer:"), max_tokens_, tr("In tokens; reaching it is said"));
    form->addRow(rereads_);
    form->addRow(answers_from_sentences_);
    form->addRow(writes_notes_);
    form->addRow(suggests_questions_);
    connect(policy_, &QComboBox::currentTextChanged, this, &SettingsDialog::check);
    connect(budget_, &QLineEdit::textChanged, this, &SettingsDialog::check);
    connect(chunk_, &QSpinBox::valueChanged, this, &SettingsDialog::check);
}

void SettingsDialog::build_window(const SettingsFacts& facts)
{
    QFormLayout* form = add_page("settings", tr("Window"));
    colours_ = new QComboBox;
    colours_->addItems({tr("As the desktop"), tr("Light"), tr("Dark")}); // in the order of Colours
    colours_->setCurrentIndex(static_cast<int>(given_.colours));
    text_percent_ = make_number(given_.text_percent, least_text_percent, most_text_percent, text_percent_step);
    text_percent_->setSuffix(tr(" %"));
    reduced_motion_ = new QCheckBox(tr("Let nothing &move or blink"));
    reduced_motion_->setChecked(given_.reduced_motion);
    send_ = new QComboBox;
    send_->addItems(
        {tr("Enter sends, Shift+Enter begins a new line"), tr("Ctrl+Enter sends, Enter begins a new line")});
    send_->setCurrentIndex(given_.enter_sends ? 0 : 1);
    language_ = new QComboBox;
    language_->addItem(tr("As the desktop"), QString());
    language_->addItem(QStringLiteral("English"), QStringLiteral("en"));
    // Includes the chosen language, even if it has no translation. English is already listed, because QLocale would
    // call it "American English".
    for (const QString& code : facts.languages + QStringList{given_.language}) {
        if (language_->findData(code) >= 0) continue;
        const QString own = QLocale(code).nativeLanguageName();
        language_->addItem(own.isEmpty() ? code : own.left(1).toUpper() + own.mid(1), code);
    }
    language_->setCurrentIndex(language_->findData(given_.language));
    add_row(*form, tr("&Colours:"), colours_);
    add_row(*form, tr("&Text size:"), text_percent_,
            tr("Of the desktop's; Ctrl+Plus and Ctrl+Minus change it too"));
    form->addRow(reduced_motion_);
    add_row(*form, tr("&Sending a question:"), send_);
    add_row(*form, tr("&Language:"), language_, tr("Takes effect with the next start"));
}

void SettingsDialog::build_privacy(const SettingsFacts& facts)
{
    QFormLayout* form = add_page("incognito", tr("Privacy"));
    database_ = new QLineEdit(given_.database);
    database_->setPlaceholderText(facts.usual_database);
    database_->setAccessibleName(tr("Database"));
    auto* empty = new QPushButton(icon("delete"), tr("&Empty…"));
    empty->setAccessibleDescription(tr("Delete all documents and sessions for good"));
    form->addRow(
        make_note(tr("Nothing ever leaves this machine: the program has no part that reaches a network. This "
                     "is all that it keeps:")));
    form->addRow(make_places_table(facts.places, this));
    empty->setSizePolicy(QSizePolicy::Maximum, QSizePolicy::Fixed);
    form->addRow(empty);
    add_row(*form, tr("&Database:"), with_browse(database_, false, tr("Choose the database")),
            tr("Takes effect with the next start; what is in the present one stays there"));
    connect(empty, &QPushButton::clicked, this, &SettingsDialog::ask_to_empty);
}

void SettingsDialog::ask_to_empty()
{
    QMessageBox question(
        QMessageBox::Warning, tr("Delete everything?"),
        tr("All documents, sessions and saved states are deleted for good, and their backups too."),
        QMessageBox::Cancel, this);
    question.setInformativeText(tr("The files that you opened stay where they are. This cannot be undone."));
    const QPushButton* yes = question.addButton(tr("&Delete everything"), QMessageBox::DestructiveRole);
    question.setDefaultButton(QMessageBox::Cancel);
    question.exec();
    if (question.clickedButton() == yes) Q_EMIT empty_wanted();
}

void SettingsDialog::check()
{
    const QString problem = check_policy(preferences().new_session(), nullptr, std::nullopt).sentence;
    problem_->setText(problem);
    problem_->setVisible(!problem.isEmpty());
    ok_->setEnabled(problem.isEmpty());
}

Preferences SettingsDialog::preferences() const
{
    Preferences p = given_;
    p.models_folder = models_folder_->text().trimmed();
    p.database = database_->text().trimmed();
    p.language = language_->currentData().toString();
    p.model.device = device_->currentData().toString();
    p.model.threads = threads_->value();
    p.policy = policy_->currentText().trimmed();
    p.budget = budget_->text().trimmed();
    p.chunk = chunk_->value();
    p.system = system_->toPlainText().trimmed();
    p.sampling.temperature = temperature_->value();
    p.sampling.top_p = top_p_->value();
    p.sampling.min_p = min_p_->value();
    p.sampling.top_k = top_k_->value();
    p.sampling.repeat_penalty = repeat_penalty_->value();
    p.sampling.seed = seed_->seed();
    p.max_tokens = max_tokens_->value();
    p.snapshot = snapshot_->currentData().toString();
    p.enter_sends = send_->currentIndex() == 0;
    p.colours = static_cast<Colours>(colours_->currentIndex());
    p.text_percent = text_percent_->value();
    p.reduced_motion = reduced_motion_->isChecked();
    p.rereads = rereads_->isChecked();
    p.answers_from_sentences = answers_from_sentences_->isChecked();
    p.writes_notes = writes_notes_->isChecked();
    p.suggests_questions = suggests_questions_->isChecked();
    return p;
}

} // namespace palimpsest::ui
