#include "ui/engine/command_loop.h"

#include <utility>

#include "storage/session/listener.h"
#include "storage/session/scoped_value.h"
#include "ui/base/wording.h"
#include "ui/engine/failure.h"

namespace palimpsest::ui {

CommandId CommandLoop::add(std::function<void()> work, bool is_question)
{
    return queue_.push({.work =
                            [this, work = std::move(work)](std::stop_token stop) {
                                stop_ = std::move(stop);
                                work();
                            },
                        .is_question = is_question});
}

CommandId CommandLoop::add_short(std::function<void()> work, std::function<bool()> may_interleave)
{
    return queue_.push({.work =
                            [this, work = std::move(work)](std::stop_token stop) {
                                if (!is_interleaving_) stop_ = std::move(stop);
                                work();
                            },
                        .may_interleave = std::move(may_interleave),
                        .runs_after_close = true});
}

void CommandLoop::run(const std::function<void()>& after_command)
{
    while (auto running = queue_.next()) {
        run_command(std::move(*running));
        after_command();
        queue_.finish();
    }
}

// By value, so that the command and what it holds are destroyed as soon as it has run.
void CommandLoop::run_command(CommandQueue::Running running) // NOLINT(performance-unnecessary-value-param)
{
    const storage::ScopedValue now(running_, running.id);
    try {
        running.command.work(running.stop);
        Q_EMIT owner_.finished(running.id, running.stop.stop_requested());
    } catch (const storage::Interrupted& interrupted) {
        Q_EMIT owner_.noted(shown(interrupted.message));
        Q_EMIT owner_.finished(running.id, true);
    } catch (const std::exception& error) {
        report_failure(error);
        Q_EMIT owner_.finished(running.id, false);
    }
}

void CommandLoop::run_interleaved()
{
    if (is_interleaving_) return;
    is_interleaving_ = true;
    while (auto other = queue_.take_interleaved())
        run_command(std::move(*other));
    is_interleaving_ = false;
}

void CommandLoop::report_failure(const std::exception& error)
{
    Q_EMIT owner_.failed(running_, failure_of(error));
}

} // namespace palimpsest::ui
