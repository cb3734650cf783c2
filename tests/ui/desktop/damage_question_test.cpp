// A damaged database at the start: a backup or what can be read takes its place, or the program quits.
#include <QCommandLinkButton>
#include <QDeadlineTimer>
#include <QLabel>
#include <QListWidget>
#include <QProgressBar>
#include <QPushButton>
#include <QTemporaryDir>
#include <QTest>
#include <QThread>
#include <algorithm>
#include <fstream>
#include <iterator>
#include <latch>

#include "storage/backup.h"
#include "storage/backup_files.h"
#include "storage/clock.h"
#include "storage/conversations.h"
#include "tests/support/project_folders.h"
#include "tests/ui/support/patience.h"
#include "tests/ui/support/sanitized.h"
#include "ui/desktop/damage_question.h"

namespace palimpsest::tests {

using namespace palimpsest::ui;
namespace fs = std::filesystem;
using storage::Conversations;
using storage::Database;

class DamageQuestionTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init();
    void a_database_without_damage_asks_nothing();
    void damage_that_was_found_in_use_is_asked_about_at_the_next_start();
    void the_backup_takes_the_place();
    void what_can_be_read_takes_the_place();
    void what_is_lost_is_named();
    void without_a_backup_only_rescuing_is_offered();
    void escape_quits_and_changes_nothing();
    void a_rescue_that_is_cancelled_changes_nothing_and_asks_again();
    void what_is_lost_is_shown_before_the_question_closes();
    void what_was_replaced_meanwhile_is_not_replaced_again_data();
    void what_was_replaced_meanwhile_is_not_replaced_again();
    void a_database_of_an_older_version_is_not_migrated_before_the_window_is_there();

private:
    void overwrite(qint64 at, const QByteArray& bytes) const;
    QByteArray content() const;
    std::vector<std::string> sessions() const;
    qint64 root_page(const char* table) const;

    std::unique_ptr<QTemporaryDir> folder_;
    fs::path database_;
    QByteArray undamaged_;
};

namespace {

constexpr qint64 page_bytes = 8192;

// The parts of the question.
struct Parts {
    explicit Parts(DamageQuestion& question)
        : restore(question.findChildren<QCommandLinkButton*>().value(0)),
          rescue(question.findChildren<QCommandLinkButton*>().value(1)), losses(question.findChild<QListWidget*>())
    {
        for (QPushButton* button : question.findChildren<QPushButton*>()) {
            if (button->text() == QStringLiteral("Start &Palimpsest")) start = button;
            if (button->text() == QStringLiteral("&Cancel")) cancel = button;
        }
    }
    QCommandLinkButton *restore, *rescue;
    QListWidget* losses;
    QPushButton *start = nullptr, *cancel = nullptr;
};

} // namespace

// "early" is in the backup, too; "late" only in the database.
void DamageQuestionTest::init()
{
    folder_ = std::make_unique<QTemporaryDir>();
    database_ = fs::path(folder_->path().toStdString()) / "palimpsest.db";
    {
        Database database(database_, Database::Access::Write);
        Conversations conversations(database);
        const auto add = [&](const char* name) {
            const int64_t session =
                conversations.create({.name = name, .model = "m", .model_name = "m", .options = "{}"});
            conversations.add_message(session, {.text = std::string("what was said in ") + name, .ids = {1, 2, 3}});
        };
        add("early");
        storage::back_up(database.sql(), storage::dated_backup(database_, "daily", storage::today()));
        add("late");
    }
    undamaged_ = content();
}

void DamageQuestionTest::overwrite(qint64 at, const QByteArray& bytes) const
{
    std::fstream file(database_, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(at);
    file.write(bytes.data(), bytes.size());
}

QByteArray DamageQuestionTest::content() const
{
    std::ifstream file(database_, std::ios::binary);
    return QByteArray::fromStdString({std::istreambuf_iterator<char>(file), {}});
}

std::vector<std::string> DamageQuestionTest::sessions() const
{
    Database database(database_, Database::Access::Write);
    std::vector<std::string> names;
    for (const auto& info : Conversations(database).list())
        names.push_back(info.name);
    std::sort(names.begin(), names.end());
    return names;
}

qint64 DamageQuestionTest::root_page(const char* table) const
{
    Database database(database_, Database::Access::Read);
    auto query = database.statement("SELECT rootpage FROM sqlite_schema WHERE name = ?");
    query.bind(1, table);
    query.executeStep();
    return query.getColumn(0).getInt64();
}

void DamageQuestionTest::a_database_without_damage_asks_nothing()
{
    QCOMPARE(damage_of(database_), QString());
    QCOMPARE(damage_of(database_.string() + ".none"), QString());
    QVERIFY(!fs::exists(database_.string() + ".none"));
}

void DamageQuestionTest::damage_that_was_found_in_use_is_asked_about_at_the_next_start()
{
    overwrite((root_page("sessions") - 1) * page_bytes, QByteArray(64, '\xFF'));
    QCOMPARE(damage_of(database_), QString()); // nothing has been read of it
    QVERIFY_EXCEPTION_THROWN(sessions(), Error);
    QVERIFY(damage_of(database_).contains(QStringLiteral("PAL-DB-03")));
}

void DamageQuestionTest::the_backup_takes_the_place()
{
    overwrite(0, QByteArray(page_bytes, '\0'));
    const QByteArray damaged = content();
    DamageQuestion question(database_, damage_of(database_));
    question.show();
    const Parts parts(question);
    EVENTUALLY(parts.restore->isEnabled());
    QVERIFY(parts.restore->description().contains(QStringLiteral("1 session")));
    parts.restore->click();
    EVENTUALLY(parts.start->isVisible());
    QVERIFY(parts.start->hasFocus() || !question.isActiveWindow());
    QTest::keyClick(parts.start, Qt::Key_Return);
    QCOMPARE(question.result(), static_cast<int>(QDialog::Accepted));
    QCOMPARE(sessions(), std::vector<std::string>{"early"});
    QCOMPARE(damage_of(database_), QString());
}

void DamageQuestionTest::what_can_be_read_takes_the_place()
{
    overwrite(0, QByteArray(page_bytes, '\0'));
    DamageQuestion question(database_, damage_of(database_));
    question.show();
    const Parts parts(question);
    EVENTUALLY(parts.rescue->description().contains(QStringLiteral("2 session")));
    QVERIFY(parts.rescue->description().contains(QStringLiteral("Nothing is lost")));
    parts.rescue->click();
    EVENTUALLY(parts.start->isVisible());
    QVERIFY(!parts.losses->isVisible());
    parts.start->click();
    QCOMPARE(question.result(), static_cast<int>(QDialog::Accepted));
    QCOMPARE(sessions(), (std::vector<std::string>{"early", "late"}));
}

void DamageQuestionTest::what_is_lost_is_named()
{
    const qint64 at = undamaged_.indexOf("what was said in late");
    QVERIFY(at > 0);
    overwrite(at, "WHAT");
    overwrite(0, QByteArray(page_bytes, '\0'));
    DamageQuestion question(database_, damage_of(database_));
    question.show();
    const Parts parts(question);
    EVENTUALLY(parts.rescue->description().contains(QStringLiteral("1 part")));
    parts.rescue->click();
    EVENTUALLY(parts.start->isVisible());
    QVERIFY(parts.losses->isVisible());
    QCOMPARE(parts.losses->item(0)->text(), QStringLiteral("session 'late': 1 message is lost"));
}

void DamageQuestionTest::without_a_backup_only_rescuing_is_offered()
{
    fs::remove_all(storage::backup_folder(database_));
    DamageQuestion question(database_, QStringLiteral("damaged"));
    question.show();
    const Parts parts(question);
    EVENTUALLY(parts.rescue->description().contains(QStringLiteral("2 session")));
    QVERIFY(!parts.restore->isEnabled());
    QVERIFY(parts.rescue->isEnabled());
}

void DamageQuestionTest::escape_quits_and_changes_nothing()
{
    overwrite(0, QByteArray(page_bytes, '\0'));
    const QByteArray damaged = content();
    {
        DamageQuestion question(database_, damage_of(database_));
        question.show();
        QTest::keyClick(&question, Qt::Key_Escape);
        EVENTUALLY(!question.isVisible());
        QCOMPARE(question.result(), static_cast<int>(QDialog::Rejected));
    }
    QCOMPARE(content(), damaged);
    for (const auto& entry : fs::directory_iterator(database_.parent_path()))
        QVERIFY(entry.path().filename().string().find(".rescue-") == std::string::npos);
}

void DamageQuestionTest::a_rescue_that_is_cancelled_changes_nothing_and_asks_again()
{
    overwrite(0, QByteArray(page_bytes, '\0'));
    const QByteArray damaged = content();
    DamageQuestion question(database_, damage_of(database_));
    question.show();
    const Parts parts(question);
    auto* progress = question.findChild<QProgressBar*>();
    EVENTUALLY(parts.rescue->description().contains(QStringLiteral("2 session")));
    QVERIFY(!progress->isVisible());
    std::latch cancelled(1); // holds the rescue at its first percent
    connect(
        &question, &DamageQuestion::progressed, &question, [&] { cancelled.wait(); }, Qt::DirectConnection);
    parts.rescue->click();
    const bool shows_progress = progress->isVisible() && parts.cancel->isVisible() && !parts.rescue->isEnabled();
    parts.cancel->click();
    cancelled.count_down();
    QVERIFY(shows_progress);
    EVENTUALLY(parts.rescue->isEnabled());
    QVERIFY(!parts.cancel->isVisible());
    QVERIFY(parts.restore->isEnabled());
    QCOMPARE(content(), damaged);
    parts.rescue->click();
    EVENTUALLY(parts.start->isVisible());
    QVERIFY(!progress->isVisible());
    QCOMPARE(sessions(), (std::vector<std::string>{"early", "late"}));
}

void DamageQuestionTest::what_is_lost_is_shown_before_the_question_closes()
{
    overwrite(undamaged_.indexOf("what was said in late"), "WHAT");
    overwrite(0, QByteArray(page_bytes, '\0'));
    const QByteArray damaged = content();
    DamageQuestion question(database_, damage_of(database_));
    question.show();
    const Parts parts(question);
    EVENTUALLY(parts.rescue->description().contains(QStringLiteral("1 part")));
    parts.rescue->click();
    const QDeadlineTimer patience(std::chrono::minutes(2));
    while (content() == damaged &&
           !patience.hasExpired()) // without the event loop, which would take the end of the rescue before the key
        QThread::yieldCurrentThread();
    QVERIFY(content() != damaged);
    QTest::keyClick(&question, Qt::Key_Escape);
    EVENTUALLY(parts.start->isVisible());
    QVERIFY(question.isVisible());
    QVERIFY(parts.losses->isVisible());
    const QString shown = question.findChild<QLabel*>()->text();
    const fs::path report = shown.section(QStringLiteral("and in "), 1).chopped(1).toStdString();
    std::ifstream kept(report);
    const std::string lines{std::istreambuf_iterator<char>(kept), {}};
    QVERIFY(lines.find("session 'late': 1 message is lost\n") != std::string::npos);
    QVERIFY((fs::status(report).permissions() & fs::perms(077)) == fs::perms::none);
    const auto unused = storage::unused_files(database_);
    QVERIFY(std::any_of(unused.begin(), unused.end(), [&](const auto& file) { return file.path == report; }));
    QTest::keyClick(&question, Qt::Key_Escape);
    QVERIFY(!question.isVisible());
}

void DamageQuestionTest::what_was_replaced_meanwhile_is_not_replaced_again_data()
{
    QTest::addColumn<bool>("restores");
    QTest::newRow("restoring") << true;
    QTest::newRow("rescuing") << false;
}

void DamageQuestionTest::what_was_replaced_meanwhile_is_not_replaced_again()
{
    QFETCH(bool, restores);
    overwrite(0, QByteArray(page_bytes, '\0'));
    DamageQuestion question(database_, damage_of(database_));
    question.show();
    const Parts parts(question);
    EVENTUALLY(parts.rescue->description().contains(QStringLiteral("2 session")));
    storage::rescue(database_, storage::RescueMode::Replace); // as the command does
    const QByteArray rescued = content();
    const size_t aside = storage::unused_files(database_).size();
    (restores ? parts.restore : parts.rescue)->click();
    EVENTUALLY(parts.start->isVisible());
    QVERIFY(question.findChild<QLabel*>()->text().contains(QStringLiteral("not replaced again")));
    QCOMPARE(content(), rescued);
    QCOMPARE(storage::unused_files(database_).size(), aside);
    QTest::keyClick(parts.start, Qt::Key_Return);
    QCOMPARE(question.result(), static_cast<int>(QDialog::Accepted));
    QCOMPARE(sessions(), (std::vector<std::string>{"early", "late"}));
}

void DamageQuestionTest::a_database_of_an_older_version_is_not_migrated_before_the_window_is_there()
{
    fs::remove_all(storage::backup_folder(database_));
    fs::copy_file(source_file("tests/fixtures/databases/schema-7.db"), database_,
                  fs::copy_options::overwrite_existing);
    fs::permissions(database_, fs::perms(0600));
    const QByteArray before = content();
    QCOMPARE(damage_of(database_), QString());
    QCOMPARE(content(), before);
    QVERIFY(!fs::exists(storage::backup_folder(database_)));
}

} // namespace palimpsest::tests

QTEST_MAIN(palimpsest::tests::DamageQuestionTest)
#include "damage_question_test.moc"
