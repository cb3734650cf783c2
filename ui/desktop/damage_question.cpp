#include "ui/desktop/damage_question.h"

#include <QCommandLinkButton>
#include <QDateTime>
#include <QEventLoop>
#include <QLabel>
#include <QListWidget>
#include <QLocale>
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
    : QDialog(parent), database_(database), text_(new QLabel(this)),
      restore_(new QCommandLinkButton(tr("&Restore a backup"), this)),
      rescue_(new QCommandLinkButton(tr("Re&scue what can be read"), this)), losses_(new QListWidget(this)),
      quit_(new QPushButton(tr("&Quit"), this)), start_(new QPushButton(tr("Start &Palimpsest"), this))
{
    setWindowTitle(tr("The sessions are damaged"));
    setObjectName(QStringLiteral("damage"));
    text_->setTextFormat(Qt::PlainText);
    text_->setWordWrap(true);
    text_->setText(
        tr("The file with your sessions is damaged. It is not changed: whatever you choose, it is kept under "
           "another name beside the new one.") +
        QStringLiteral("\n\n") + damage);
    restore_->setDescription(tr("Looking for a backup…"));
    rescue_->setDescription(tr("Counting what can be read…"));
    restore_->setEnabled(false);
    losses_->setAccessibleName(tr("What is lost"));
    losses_->hide();
    start_->hide();
    auto* layout = new QVBoxLayout(this);
    for (QWidget* widget : std::initializer_list<QWidget*>{text_, restore_, rescue_, losses_})
        layout->addWidget(widget);
    layout->addWidget(start_, 0, Qt::AlignRight);
    layout->addWidget(quit_, 0, Qt::AlignRight);
    setMinimumWidth(560);
    connect(restore_, &QPushButton::clicked, this, [this] { when_idle([this] { choose_backup(); }); });
    connect(rescue_, &QPushButton::clicked, this, [this] { when_idle([this] { choose_rescue(); }); });
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

void DamageQuestion::run_rescue(storage::RescueMode mode, Next next)
{
    stop_ = {};
    run(
        [file = database_, mode, stop = stop_.get_token()](Outcome& done) {
            done.rescued = storage::rescue(file, mode, [stop] { return !stop.stop_requested(); });
        },
        next);
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
    if (is_done) (this->*next_)(*outcome_);
    if (const auto next = std::exchange(waiting_, {})) next();
}

void DamageQuestion::offer_backup(const Outcome& outcome)
{
    backup_ = outcome.backup;
    restore_->setEnabled(backup_.has_value());
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
    run_rescue(storage::RescueMode::TryOnly, &DamageQuestion::offer_rescue);
}

void DamageQuestion::offer_rescue(const Outcome& outcome)
{
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
    run([file = database_, from = backup_->file](Outcome& done) { done.restored = storage::restore(file, from); },
        &DamageQuestion::end);
}

void DamageQuestion::choose_rescue()
{
    show_working(tr("What can be read is rescued…"));
    run_rescue(storage::RescueMode::Replace, &DamageQuestion::end);
}

void DamageQuestion::show_working(const QString& what)
{
    restore_->setEnabled(false);
    rescue_->setEnabled(false);
    text_->setText(what);
    adjustSize();
    quit_->setFocus();
}

void DamageQuestion::end(const Outcome& outcome)
{
    if (!outcome.failure.isEmpty()) {
        text_->setText(outcome.failure);
        restore_->setEnabled(backup_.has_value());
        rescue_->setEnabled(true);
        return adjustSize();
    }
    const fs::path aside = outcome.restored ? outcome.restored->aside : outcome.rescued->aside;
    text_->setText(tr("The program can start. The damaged file is kept as %1.").arg(text_of(aside.string())));
    restore_->hide();
    rescue_->hide();
    if (outcome.rescued)
        for (const storage::Loss& loss : outcome.rescued->losses)
            losses_->addItem(shown(sentence_of(loss)));
    losses_->setVisible(losses_->count() > 0);
    start_->show();
    adjustSize();
    start_->setDefault(true);
    start_->setFocus();
}

} // namespace palimpsest::ui
