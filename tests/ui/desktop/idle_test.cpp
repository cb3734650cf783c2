// The window appears soon, and uses no processor time while nothing happens.
#include <sys/resource.h>
#include <time.h>

#include <QAbstractEventDispatcher>
#include <QEventLoop>
#include <QTimer>

#include "tests/ui/desktop/program.h"

namespace palimpsest::tests {

using namespace palimpsest::ui;

namespace {

double seconds(const timeval& time)
{
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

// Processor time of all threads.
double processor_seconds()
{
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Processor time of this thread; for the main thread, since the start of the process.
double thread_seconds()
{
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

void turn_for(int milliseconds)
{
    QEventLoop loop;
    QTimer::singleShot(milliseconds, &loop, &QEventLoop::quit);
    loop.exec();
}

// Describes all repeating timers except the one that blinks the caret.
QStringList repeating_timers()
{
    QStringList found;
    const auto* dispatcher = QAbstractEventDispatcher::instance();
    QObjectList all = {qApp};
    for (QWidget* window : QApplication::topLevelWidgets())
        all << window;
    for (qsizetype i = 0; i < all.size(); ++i) {
        QObject* const object = all[i];
        all << object->children();
        const auto* timer = qobject_cast<const QTimer*>(object);
        if (object->inherits("QWidgetTextControl") || object->inherits("QWidgetLineControl")) continue;
        if (timer && (!timer->isActive() || timer->isSingleShot())) continue;
        for (const auto& active : dispatcher->registeredTimers(object))
            found << QStringLiteral("%1 “%2” in %3, every %4 ms")
                         .arg(QLatin1String(object->metaObject()->className()), object->objectName(),
                              QLatin1String(object->parent() ? object->parent()->metaObject()->className() : ""))
                         .arg(active.interval);
    }
    return found;
}

QElapsedTimer since_start;

} // namespace

class IdleTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void the_window_is_painted_within_a_second_of_processor_time();
    void an_idle_program_uses_no_processor_time();

private:
    QTemporaryDir folder_;
};

// Must run first: the process is new then, so that the time includes the start of Qt.
void IdleTest::the_window_is_painted_within_a_second_of_processor_time()
{
    Program program(folder_.path());
    QSignalSpy painted(&program.window(), &MainWindow::first_painted);
    EVENTUALLY(!painted.isEmpty());
    const double computed = thread_seconds();
    qInfo("first paint after %lld ms, %.0f ms of them computing", static_cast<long long>(since_start.elapsed()),
          computed * 1000);
    QVERIFY(!program.engine().model());
    if (!ui::test::is_sanitized) QVERIFY2(computed < 1, qPrintable(QString::number(computed)));
}

void IdleTest::an_idle_program_uses_no_processor_time()
{
    const QString sample = part_of_sample(folder_, sized(8000));
    Program program(folder_.path(), sample);
    program.store().set_tour_taken();
    program.bench().begin({});
    program.window().open_paths({sample});
    QVERIFY(program.settle());
    QVERIFY(program.facts());
    for (const Tab tab : {Tab::Chat, Tab::Document, Tab::Outline, Tab::Compare}) {
        program.window().show_tab(tab);
        turn_for(1500); // lets delayed signals, layouts and animations finish
        QCOMPARE(repeating_timers().join(u'\n'), QString());
        const double before = processor_seconds();
        turn_for(3000);
        const double used = (processor_seconds() - before) / 3;
        qInfo("tab %d: %.3f %% of a processor", static_cast<int>(tab), used * 100);
        if (!ui::test::is_sanitized) QVERIFY2(used < 0.005, qPrintable(QString::number(used)));
    }
}

} // namespace palimpsest::tests

int main(int argc, char** argv)
{
    palimpsest::tests::since_start.start();
    QApplication application(argc, argv);
    QTEST_SET_MAIN_SOURCE_PATH
    palimpsest::tests::IdleTest test;
    return QTest::qExec(&test, argc, argv);
}

#include "idle_test.moc"
