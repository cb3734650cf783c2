#include "ui/desktop/damage_question.h"

#include <QCommandLinkButton>
#include <QDateTime>
#include <QEventLoop>
#include <QLabel>
#include <QListWidget>
#include <QLocale>
#include <QProgressBar>
#include <QPushButton>
#include <QThread>
#include <QVBoxLayout>
#include <utility>

#include "kernels/base/error.h"
#include "storage/damage_check.h"
#include "storage/interrupted.h"
#include "ui/base/utf8.h"
#include "ui/base/wording.h"

namespace palimpsest::ui {
namespace {

namespace fs = std::filesystem;

QString date_text(int64_t milliseconds)
{
    return QLocale().toString(QDateTime::fromMSecsSinceEpoch(milliseconds), QLocale::ShortFormat);
}

QString damage_found(const fs::path& database)
try {
    storage::look_for_damage(database);
    return {};
} catch (const Error& error) {
    // What is offered takes the place of the remedy.
    return error.code() == ErrorCode::DamagedDatabase
               ? QStringLiteral("%1: %2 [%3]")
                     .arg(shown(error.subject()), shown(error.text()), text_of(name_of(error.code())))
               : QString();
} catch (const std::exception&) {
    return {}; // the engine thread opens it again, and tells
}

// Whether another file than the damaged one, without damage, has its name.
bool has_successor(const fs::path& database, const std::optional<storage::FileState>& damaged)
try {
    const auto now = storage::FileState::of(database);
    if (!now || now == damaged) return false;
    storage::look_for_damage(database);
    return true;
} catch (const std::exception&) {
    return false; // the work itself tells what is wrong
}

} // namespace

QString damage_of(const fs::path& database)
{
    QString damage;
    QEventLoop loop;
    const std::unique_ptr<QThread> thread(QThread::create([&] { damage = damage_found(database); }));
    QObject::connect(thread.get(), &QThread::finished, &loop, &QEventLoop::quit);
    thread->start();
    loop.exec();
    thread->wait();
    return damage;
}

DamageQuestion::DamageQuestion(const fs::path& database, const QString& damage, QWidget* parent)
    : QDialog(parent), database_(database), damaged_(storage::FileState::of(database)), text_(new QLabel(this)),
      restore_(new QCommandLinkButton(tr("&Restore a backup"), this)),
      rescue_(new QCommandLinkButton(tr("Re&scue what can be read"), this)), progress_(new QProgressBar(this)),
      losses_(new QListWidget(this)), cancel_(new QPushButton(tr("&Cancel"), this)),
      quit_(new QPushButton(tr("&Quit"), this)), start_(new QPushButton(tr("Start &Palimpsest"), this))
{
    setWindowTitle(tr("The sessions are damaged"));
    setObjectName(QStringLiteral("damage"));
    text_->setTextFormat(Qt::PlainText);
    text_->setWordWrap(true);
    question_ =
        tr("The file with your sessions is damaged. It is not changed: whatever you choose, it is kept under "
           "another name beside the new one.") +
        QStringLiteral("\n\n") + damage;
    text_->setText(question_);
    restore_->setDescription(tr("Looking for a backup…"));
    rescue_->setDescription(tr("Counting what can be read…"));
    restore_->setEnabled(false);
    losses_->setAccessibleName(tr("What is lost"));
    progress_->setAccessibleName(tr("Progress"));
    for (QWidget* later : std::initializer_list<QWidget*>{progress_, losses_, cancel_, start_})
        later->hide();
    auto* layout = new QVBoxLayout(this);
    for (QWidget* widget : std::initializer_list<QWidget*>{text_, restore_, rescue_, progress_, losses_})
        layout->addWidget(widget);
    for (QPushButton* button : {start_, cancel_, quit_})
        layout->addWidget(button, 0, Qt::AlignRight);
    setMinimumWidth(560);
    connect(restore_, &QPushButton::clicked, this, [this] { when_idle([this] { choose_backup(); }); });
    connect(rescue_, &QPushButton::clicked, this, [this] { when_idle([this] { choose_rescue(); }); });
    connect(cancel_, &QPushButton::clicked, this, &DamageQuestion::cancel);
    connect(this, &DamageQuestion::progressed, progress_, &QProgressBar::setValue);
    connect(quit_, &QPushButton::clicked, this, &QDialog::reject);
    connect(start_, &QPushButton::clicked, this, &QDialog::accept);
    run([file = database_](Outcome& found) { found.backup = storage::newest_backup(file); },
        &DamageQuestion::offer_backup);
}

DamageQuestion::~DamageQuestion()
{
    stop_.request_stop();
    if (thread_) thread_->wait();
}

void DamageQuestion::reject()
{
    when_idle([this] { QDialog::reject(); });
}

void DamageQuestion::leave()
{
    is_leaving_ = true;
    reject();
}

void DamageQuestion::show_percentage()
{
    progress_->setRange(0, 100);
    progress_->setValue(0);
    progress_->show();
}

DamageQuestion::Work DamageQuestion::rescuing(storage::RescueMode mode)
{
    stop_ = {};
    return [this, file = database_, mode, stop = stop_.get_token()](Outcome& done) {
        const auto go_on = [&, told = 0](int percent) mutable {
            if (percent > std::exchange(told, percent)) Q_EMIT progressed(percent);
            return !stop.stop_requested();
        };
        const WindowWording wording;
        done.rescued = storage::rescue(file, mode, go_on, &wording);
    };
}

void DamageQuestion::count_rescuable()
{
    show_percentage();
    run(rescuing(storage::RescueMode::TryOnly), &DamageQuestion::offer_rescue);
}

// The command may have restored or rescued the database since the question was asked.
void DamageQuestion::run_replacement(const Work& work)
{
    run(
        [work, file = database_, damaged = damaged_](Outcome& done) {
            done.is_replaced = has_successor(file, damaged);
            if (!done.is_replaced) work(done);
        },
        &DamageQuestion::end);
}

void DamageQuestion::run(const Work& work, Next next)
{
    next_ = next;
    outcome_ = std::make_shared<Outcome>();
    thread_.reset(QThread::create([work, outcome = outcome_] {
        try {
            work(*outcome);
        } catch (const storage::Interrupted&) {
            // The user chose something else meanwhile.
        } catch (const std::exception& error) {
            outcome->failure = shown(error);
        }
    }));
    connect(thread_.get(), &QThread::finished, this, &DamageQuestion::take_work_end);
    thread_->start();
}

// Stops what runs, because it has the database open.
void DamageQuestion::when_idle(const std::function<void()>& what)
{
    if (!thread_) return what();
    waiting_ = what;
    stop_.request_stop();
}

void DamageQuestion::take_work_end()
{
    thread_->wait();
    thread_.release()->deleteLater();
    const bool is_done =
        !waiting_ || outcome_->restored || !outcome_->rescued.value_or(storage::Rescued()).aside.empty();
    progress_->hide();
    if (is_done) (this->*next_)(*outcome_);
    const auto next = std::exchange(waiting_, {});
    if (next && (is_leaving_ || losses_->count() == 0)) next();
}

void DamageQuestion::offer_backup(const Outcome& outcome)
{
    backup_ = outcome.backup;
    ask(); // not before: the search for a backup would be given up
    if (backup_) {
        restore_->setText(tr("&Restore the backup of %1").arg(date_text(backup_->written_ms)));
        restore_->setDescription(
            tr("It has %n session(s). They are read again when they are opened; what came after "
               "the backup is only in the damaged file.",
               nullptr, static_cast<int>(backup_->sessions)));
    } else {
        restore_->setDescription(tr("There is no backup that can be used."));
    }
    adjustSize();
    count_rescuable();
}

void DamageQuestion::offer_rescue(const Outcome& outcome)
{
    is_counted_ = true;
    if (!outcome.rescued) {
        rescue_->setDescription(outcome.failure);
        return adjustSize();
    }
    const storage::Rescued& found = *outcome.rescued;
    const auto count = [](uint64_t number) { return static_cast<int>(number); };
    rescue_->setDescription(tr("%1, %2 and %3 can be read.")
                                .arg(tr("%n session(s)", nullptr, count(found.sessions)),
                                     tr("%n document(s)", nullptr, count(found.documents)),
                                     tr("%n message(s)", nullptr, count(found.messages))) +
                            QLatin1Char(' ') +
                            (found.losses.empty() ? tr("Nothing is lost.")
                                                  : tr("%n part(s) are lost, and named afterwards.", nullptr,
                                                       count(found.losses.size()))));
    adjustSize();
}

void DamageQuestion::choose_backup()
{
    show_working(tr("The backup is restored…"));
    progress_->setRange(0, 0); // it takes its time
    progress_->show();
    run_replacement(
        [file = database_, from = backup_->file](Outcome& done) { done.restored = storage::restore(file, from); });
}

void DamageQuestion::choose_rescue()
{
    show_working(tr("What can be read is rescued…"));
    cancel_->setEnabled(true);
    cancel_->show();
    show_percentage();
    run_replacement(rescuing(storage::RescueMode::Replace));
}

// Until the new database takes the name, nothing has changed.
void DamageQuestion::cancel()
{
    cancel_->setEnabled(false);
    stop_.request_stop();
}

void DamageQuestion::show_working(const QString& what)
{
    restore_->setEnabled(false);
    rescue_->setEnabled(false);
    text_->setText(what);
    adjustSize();
    quit_->setFocus();
}

void DamageQuestion::ask()
{
    restore_->setEnabled(backup_.has_value());
    rescue_->setEnabled(true);
    adjustSize();
}

// What can be read is counted again if that was given up.
void DamageQuestion::ask_again()
{
    ask();
    if (!is_counted_) count_rescuable();
}

void DamageQuestion::end(const Outcome& outcome)
{
    cancel_->hide();
    if (!outcome.failure.isEmpty()) {
        text_->setText(outcome.failure);
        return ask_again();
    }
    if (outcome.is_replaced)
        return show_end(tr("The program can start: another program has replaced the damaged file meanwhile, so "
                           "it was not replaced again."));
    if (outcome.restored)
        return show_end(tr("The program can start. The damaged file is kept as %1.")
                            .arg(text_of(outcome.restored->aside.string())));
    if (!outcome.rescued) { // cancelled
        text_->setText(question_);
        return ask_again();
    }
    for (const storage::Loss& loss : outcome.rescued->losses)
        losses_->addItem(shown(sentence_of(loss)));
    losses_->setVisible(losses_->count() > 0);
    const QString aside = text_of(outcome.rescued->aside.string()),
                  report = text_of(outcome.rescued->report.string());
    show_end(report.isEmpty() ? tr("The program can start. The damaged file is kept as %1.").arg(aside)
                              : tr("The program can start. The damaged file is kept as %1. What is lost is listed "
                                   "here, and in %2.")
                                    .arg(aside, report));
}

void DamageQuestion::show_end(const QString& text)
{
    text_->setText(text);
    restore_->hide();
    rescue_->hide();
    start_->show();
    adjustSize();
    start_->setDefault(true);
    start_->setFocus();
}

} // namespace palimpsest::ui
