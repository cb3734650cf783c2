#include "ui/window/model_search.h"

#include <utility>

#include "kernels/base/error.h"
#include "storage/models/default_model.h"

namespace palimpsest::ui {
namespace {

// A default that is gone is reported when it is loaded.
QString default_or_none()
try {
    return QString::fromStdString(storage::default_model().string());
} catch (const Error&) {
    return {};
}

} // namespace

ModelsHere find_models_here(const storage::ModelFolders& folders)
{
    return {.default_model = default_or_none(),
            .models = storage::find_models(folders, storage::FindDetail::Names).models};
}

ModelSearch::ModelSearch(FindModels find, QObject* parent)
    : QObject(parent), find_(find ? std::move(find) : FindModels(find_models_here)),
      thread_([this](std::stop_token stop) { work(stop); })
{
}

ModelSearch::~ModelSearch()
{
    thread_.request_stop();
    wake_.notify_all();
    thread_.join();
}

void ModelSearch::look_in(const storage::ModelFolders& folders)
{
    const std::lock_guard lock(mutex_);
    wanted_ = folders;
    ++newest_;
    wake_.notify_all();
}

void ModelSearch::work(std::stop_token stop)
{
    while (true) {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, stop, [&] { return wanted_.has_value(); });
        if (stop.stop_requested()) return;
        const storage::ModelFolders folders = *std::exchange(wanted_, std::nullopt);
        const uint64_t number = newest_;
        lock.unlock();
        const auto tell = [this, number, models = find_(folders)] {
            const bool is_newest = [&] {
                const std::lock_guard now(mutex_);
                return number == newest_;
            }();
            if (is_newest) Q_EMIT found(models);
        };
        QMetaObject::invokeMethod(this, tell, Qt::QueuedConnection);
    }
}

} // namespace palimpsest::ui
