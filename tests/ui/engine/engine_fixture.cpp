#include "tests/ui/engine/engine_fixture.h"

#include <QFile>
#include <QTest>

#include "storage/session/store.h"
#include "tests/support/project_folders.h"
#include "tests/ui/support/patience.h"
#include "tests/ui/support/sanitized.h"
#include "ui/engine/tools.h"

namespace palimpsest::ui {

QString EngineFixture::book(int copies) const
{
    QFile sample(QString::fromStdString(tests::source_file("resources/samples/ashford-light.md")));
    if (!sample.open(QIODevice::ReadOnly)) return {};
    const QByteArray part = sample.read(test::sized(8000));
    QFile file(folder_.filePath(QStringLiteral("book%1.md").arg(copies)));
    if (!file.open(QIODevice::WriteOnly)) return {};
    for (int i = 0; i < copies; ++i)
        file.write(part);
    return file.fileName();
}

bool EngineFixture::wait_until_idle(int milliseconds) const
{
    const bool idle = test::eventually([&] { return engine_->is_idle(); }, milliseconds);
    QCoreApplication::processEvents();
    return idle;
}

void EngineFixture::start()
{
    start(folder_.filePath(QStringLiteral("%1.db").arg(++number_)));
}

void EngineFixture::start(const QString& database)
{
    engine_.reset(); // ends first, because only one engine at a time can open the database
    engine_ = std::make_unique<EngineThread>(database);
    told_ = std::make_unique<EngineRecorder>(*engine_);
    engine_->set_sampling({}, 24);
}

QStringList EngineFixture::sessions_in_library()
{
    QStringList names;
    engine_->run({}, [&](EngineThread::Tools& tools) {
        for (const storage::SessionInfo& info : tools.store.conversations.list())
            names << QString::fromStdString(info.name);
    });
    return wait_until_idle() ? names : QStringList();
}

void EngineFixture::change_database(const char* sql)
{
    engine_->run({}, [sql](EngineThread::Tools& tools) { tools.store.database.sql().exec(sql); });
    QVERIFY(wait_until_idle());
    QCOMPARE(failure(), QString());
}

bool EngineFixture::wait_for_share(Activity activity, double share) const
{
    const auto is_there = [&] {
        const auto frame = engine_->frame();
        return frame->activity == activity && frame->share.value_or(0) > share;
    };
    return test::eventually(is_there);
}

void EngineFixture::begin(const QString& name, const QString& policy, int copies)
{
    engine_->begin_session({.name = name, .policy = policy, .budget = QStringLiteral("256"), .chunk = 128},
                           {book(copies)});
    QVERIFY(wait_until_idle());
    QCOMPARE(failure(), QString());
}

QString EngineFixture::book_with_door() const
{
    QFile file(folder_.filePath(QStringLiteral("door.md"))), rest(book(4));
    if (!file.open(QIODevice::WriteOnly) || !rest.open(QIODevice::ReadOnly)) qFatal("cannot write the book");
    file.write("Tobias painted the door of the boathouse green.\n\n");
    file.write(rest.readAll());
    return file.fileName();
}

} // namespace palimpsest::ui
