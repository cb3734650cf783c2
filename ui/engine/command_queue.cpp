#include "ui/engine/command_queue.h"

#include <algorithm>

namespace palimpsest::ui {

CommandId CommandQueue::push(Command command)
{
    const std::lock_guard lock(mutex_);
    const CommandId id = ++last_;
    if (closed_ && !command.runs_after_close) return id;
    waiting_.push_back({id, std::move(command), {}});
    changed_.notify_one();
    return id;
}

void CommandQueue::stop_running()
{
    const std::lock_guard lock(mutex_);
    running_stop_.request_stop();
}

bool CommandQueue::cancel(CommandId id)
{
    const std::lock_guard lock(mutex_);
    if (running_ == id) running_stop_.request_stop();
    return std::erase_if(waiting_, [&](const Entry& entry) { return entry.id == id; }) > 0;
}

std::vector<CommandId> CommandQueue::cancel_all()
{
    const std::lock_guard lock(mutex_);
    running_stop_.request_stop();
    all_cancelled_ = true;
    std::vector<CommandId> gone;
    std::erase_if(waiting_, [&](const Entry& entry) {
        if (entry.command.runs_after_close) return false;
        gone.push_back(entry.id);
        return true;
    });
    return gone;
}

void CommandQueue::close()
{
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
}

bool CommandQueue::is_idle() const
{
    const std::lock_guard lock(mutex_);
    return !running_ && waiting_.empty();
}

int CommandQueue::waiting() const
{
    const std::lock_guard lock(mutex_);
    return static_cast<int>(waiting_.size());
}

bool CommandQueue::waits_behind_questions(CommandId id) const
{
    const std::lock_guard lock(mutex_);
    const auto first_other = std::find_if(waiting_.begin(), waiting_.end(), [&](const Entry& entry) {
        return entry.id == id || !(entry.command.is_question || entry.command.may_interleave);
    });
    return first_other != waiting_.end() && first_other->id == id;
}

std::optional<CommandQueue::Running> CommandQueue::next()
{
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return closed_ || !waiting_.empty(); });
    if (waiting_.empty()) return std::nullopt;
    running_ = waiting_.front().id;
    running_stop_ = waiting_.front().stop;
    all_cancelled_ = false;
    return take(waiting_.begin());
}

void CommandQueue::finish()
{
    const std::lock_guard lock(mutex_);
    running_.reset();
    running_stop_ = std::stop_source(std::nostopstate);
}

std::stop_token CommandQueue::renew_stop()
{
    const std::lock_guard lock(mutex_);
    running_stop_ = std::stop_source();
    if (all_cancelled_) running_stop_.request_stop();
    return running_stop_.get_token();
}

std::optional<CommandQueue::Running> CommandQueue::take_interleaved()
{
    const std::lock_guard lock(mutex_);
    const auto entry = std::find_if(waiting_.begin(), waiting_.end(), [](const Entry& e) {
        return e.command.may_interleave && e.command.may_interleave();
    });
    return entry == waiting_.end() ? std::nullopt : take(entry);
}

std::optional<CommandQueue::Running> CommandQueue::take(std::list<Entry>::iterator entry)
{
    Running taken{entry->id, std::move(entry->command), entry->stop.get_token()};
    waiting_.erase(entry);
    return taken;
}

} // namespace palimpsest::ui
