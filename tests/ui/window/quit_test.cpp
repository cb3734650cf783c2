// On SIGINT, or on SIGTERM, which a desktop sends at logout, the window closes as if the user closed it, and the
// exit code names the signal.
#include <QFile>
#include <QProcess>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <csignal>
#include <unistd.h>

#include "tests/support/project_folders.h"
#include "tests/ui/support/patience.h"
#include "ui/desktop/quit_signals.h"

using namespace palimpsest::ui;

namespace {

#ifdef PALIMPSEST_HAS_COMMAND
// Whether the process handles `signal` by now.
bool catches(qint64 process, int signal)
{
    QFile status(QStringLiteral("/proc/%1/status").arg(process));
    if (!status.open(QIODevice::ReadOnly)) return false;
    for (const QByteArray& line : status.readAll().split('\n'))
        if (line.startsWith("SigCgt:")) return line.mid(7).trimmed().toULongLong(nullptr, 16) >> (signal - 1) & 1;
    return false;
}

QProcessEnvironment own_places(const QString& folder)
{
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    environment.insert(QStringLiteral("QT_QPA_PLATFORM"), QStringLiteral("offscreen"));
    environment.remove(QStringLiteral("PALIMPSEST_DB"));
    for (const char* name :
         {"HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR"})
        environment.insert(QLatin1String(name), folder);
    return environment;
}
#endif

void add_signals()
{
    QTest::addColumn<int>("signal");
    QTest::addColumn<int>("code");
    QTest::newRow("Ctrl-C") << SIGINT << 130;
    QTest::newRow("terminated") << SIGTERM << 143;
}

} // namespace

class QuitTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void a_signal_requests_that_the_program_quits_data() { add_signals(); }

    void a_signal_requests_that_the_program_quits()
    {
        QFETCH(int, signal);
        QFETCH(int, code);
        const QuitSignals signals_taken;
        QSignalSpy wanted(&signals_taken, &QuitSignals::quit_wanted);
        QCOMPARE(signals_taken.exit_code(), 0);
        QCOMPARE(std::raise(signal), 0);
        QCOMPARE(wanted.count(), 0); // the signal handler itself emits nothing
        EVENTUALLY_EQUAL(wanted.count(), 1);
        QCOMPARE(signals_taken.exit_code(), code);
    }

#ifdef PALIMPSEST_HAS_COMMAND
    void the_program_exits_with_the_code_of_its_signal_data()
    {
        add_signals();
    }

    void the_program_exits_with_the_code_of_its_signal()
    {
        QFETCH(int, signal);
        QFETCH(int, code);
        const QTemporaryDir folder;
        QProcess program;
        program.setProcessEnvironment(own_places(folder.path()));
        program.start(QString::fromStdString(palimpsest::tests::build_file("app/palimpsest/palimpsest")), {});
        QVERIFY(program.waitForStarted());
        EVENTUALLY(catches(program.processId(), signal));
        QCOMPARE(::kill(static_cast<pid_t>(program.processId()), signal), 0);
        QVERIFY(program.waitForFinished(30000));
        QCOMPARE(program.exitStatus(), QProcess::NormalExit);
        QCOMPARE(program.exitCode(), code);
        QVERIFY(program.readAllStandardError().endsWith("palimpsest: stopped\n"));
    }
#endif
};

QTEST_GUILESS_MAIN(QuitTest)
#include "quit_test.moc"
