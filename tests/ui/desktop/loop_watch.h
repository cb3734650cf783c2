// Watches the window's event loop: finds the longest gap between two iterations, and the event that took most of
// it.
//
// A timer of one millisecond fires in every iteration; a gap is the time between two of its timeouts. The tests
// limit the thread's processor time in a gap, because wall time includes other programs on a loaded machine. The
// wall time less waits for a processor is only reported: it includes locks and disk accesses, but also the effects
// of a limited share of the processor.
#pragma once

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <QApplication>
#include <QDebug>
#include <QElapsedTimer>
#include <QEvent>
#include <QEventLoop>
#include <QHash>
#include <QMetaEnum>
#include <QTimer>
#include <QWidget>
#include <algorithm>
#include <cstdio>
#include <functional>
#include <vector>

namespace palimpsest::tests {

// One period of watching. Each maximum is taken over all gaps on its own.
struct LoopReport {
    double cpu_ms = 0; // most processor time of the thread in a gap
    QString doing;     // the event that took most of that gap
    double doing_ms = 0;
    double longest_unwaited_ms = 0; // largest wall time of a gap less its waits for a processor
    double longest_wall_ms = 0;     // largest wall time of a gap
    int turns = 0;                  // iterations of the event loop

    QString text(const QString& what) const
    {
        return QStringLiteral(
                   "%1: longest gap %2 ms of computing, %3 ms of them in %4; %5 turns; waits included %6 ms, "
                   "on the wall %7 ms")
            .arg(what)
            .arg(cpu_ms, 0, 'f', 1)
            .arg(doing_ms, 0, 'f', 1)
            .arg(doing)
            .arg(turns)
            .arg(longest_unwaited_ms, 0, 'f', 1)
            .arg(longest_wall_ms, 0, 'f', 1);
    }
};

inline double median_of(std::vector<double> values)
{
    if (values.empty()) return 0;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

// The application whose event loop is watched. Used on the window's thread only.
class WatchedApplication : public QApplication {
public:
    WatchedApplication(int& argc, char** argv)
        : QApplication(argc, argv), waits_(::open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC))
    {
        tick_.setTimerType(Qt::PreciseTimer);
        tick_.setInterval(1);
        QObject::connect(&tick_, &QTimer::timeout, this, [this] { note_turn(); });
    }
    ~WatchedApplication() override
    {
        if (waits_ >= 0) ::close(waits_);
    }

    static WatchedApplication& instance() { return *static_cast<WatchedApplication*>(qApp); }

    // Runs the loop for `milliseconds`, or until `done` returns true. Calls `act` once from within the loop, like
    // user input.
    LoopReport watch(const QString& what, const std::function<void()>& act, int milliseconds,
                     const std::function<bool()>& done = {})
    {
        QEventLoop loop;
        QTimer end, look;
        end.setSingleShot(true);
        QObject::connect(&end, &QTimer::timeout, &loop, &QEventLoop::quit);
        QObject::connect(&look, &QTimer::timeout, &loop, [&] {
            if (done && done()) loop.quit();
        });
        begin();
        QTimer::singleShot(0, &loop, act);
        end.start(milliseconds);
        look.start(20);
        loop.exec();
        return finish(what);
    }
    // Runs the loop and calls `act` from it `times` times, sixty times a second, like the events of a wheel or a
    // drag.
    LoopReport repeat(const QString& what, int times, const std::function<void(int)>& act)
    {
        QEventLoop loop;
        QTimer input;
        input.setTimerType(Qt::PreciseTimer);
        int done = 0;
        QObject::connect(&input, &QTimer::timeout, &loop, [&] {
            if (done >= times) return loop.quit();
            act(done++);
        });
        begin();
        input.start(16);
        loop.exec();
        return finish(what);
    }
    // From now on, measures those paint events of `widget` in which it renders a new picture, that is, in which the
    // number returned by `pictures` grows.
    void time_paints_of(const QWidget* widget, std::function<uint64_t()> pictures)
    {
        painted_ = widget;
        pictures_ = std::move(pictures);
        paints_.clear();
    }
    void time_no_paints() { painted_ = nullptr; }
    const std::vector<double>& paints() const { return paints_; } // milliseconds of processor time each

    bool notify(QObject* receiver, QEvent* event) override
    {
        const bool paints = event->type() == QEvent::Paint && receiver == painted_;
        const bool outermost = depth_ == 0 && watching_;
        if (!paints && !outermost) return QApplication::notify(receiver, event);
        const char* const name = receiver->metaObject()->className();
        const QString object = receiver->objectName();
        const char* const parent = receiver->parent() ? receiver->parent()->metaObject()->className() : "";
        const auto type = event->type();
        const uint64_t pictures = paints ? pictures_() : 0;
        const double before = cpu();
        if (outermost) ++depth_;
        const bool accepted = QApplication::notify(receiver, event);
        if (outermost) --depth_;
        const double took = cpu() - before;
        if (paints && pictures_() > pictures) paints_.push_back(took);
        if (outermost && took > heaviest_) {
            heaviest_ = took;
            heaviest_name_ = QStringLiteral("%1 %2 in %3 (%4)")
                                 .arg(QLatin1String(name), object, QLatin1String(parent),
                                      QString::fromLatin1(QMetaEnum::fromType<QEvent::Type>().valueToKey(type)));
        }
        return accepted;
    }

private:
    static double clock_ms(clockid_t clock)
    {
        timespec now{};
        clock_gettime(clock, &now);
        return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
    }
    static double cpu() { return clock_ms(CLOCK_THREAD_CPUTIME_ID); }
    // Total milliseconds for which this thread was ready but had no processor; 0 if the system does not report it.
    double waited() const
    {
        char text[128] = {};
        unsigned long long ran = 0, waited = 0;
        if (waits_ < 0 || ::pread(waits_, text, sizeof text - 1, 0) <= 0) return 0;
        return std::sscanf(text, "%llu %llu", &ran, &waited) == 2 ? static_cast<double>(waited) / 1e6 : 0;
    }
    void begin()
    {
        longest_ = {};
        watching_ = true;
        mark();
        tick_.start();
    }
    void mark()
    {
        wall_at_ = clock_ms(CLOCK_MONOTONIC);
        cpu_at_ = cpu();
        waited_at_ = waited();
        heaviest_ = 0;
        heaviest_name_.clear();
    }
    void note_turn()
    {
        const double wall = clock_ms(CLOCK_MONOTONIC) - wall_at_, computed = cpu() - cpu_at_;
        ++longest_.turns;
        longest_.longest_wall_ms = std::max(longest_.longest_wall_ms, wall);
        longest_.longest_unwaited_ms = std::max(longest_.longest_unwaited_ms, wall - (waited() - waited_at_));
        if (computed > longest_.cpu_ms) {
            longest_.cpu_ms = computed;
            longest_.doing = heaviest_name_;
            longest_.doing_ms = heaviest_;
        }
        mark();
    }
    LoopReport finish(const QString& what)
    {
        note_turn();
        tick_.stop();
        watching_ = false;
        qInfo().noquote() << longest_.text(what);
        return longest_;
    }

    int waits_;
    QTimer tick_;
    LoopReport longest_;
    bool watching_ = false;
    int depth_ = 0;
    double wall_at_ = 0, cpu_at_ = 0, waited_at_ = 0, heaviest_ = 0;
    QString heaviest_name_;
    const QWidget* painted_ = nullptr;
    std::function<uint64_t()> pictures_;
    std::vector<double> paints_;
};

} // namespace palimpsest::tests
