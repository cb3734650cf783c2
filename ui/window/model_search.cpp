#include "ui/window/model_search.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <utility>

#include "storage/models/default_model.h"
#include "ui/base/utf8.h"

namespace palimpsest::ui {
namespace {

using namespace std::chrono_literals;

constexpr auto patience = 500ms; // how long the destructor waits for a running search

// Calls `find` and ignores its exceptions: an incomplete list of models is better than no window.
template<class Find>
void try_to(Find&& find)
try {
    find();
} catch (const std::exception&) {
}

void find_default(ModelsHere& here)
try {
    here.default_model = text_of(storage::default_model().string());
} catch (const Error& error) {
    std::optional<std::string> set; // nullopt: config.json cannot be read
    try_to([&] { set = storage::set_default(); });
    if (set && set->empty()) return; // no model is set, installed or shipped
    here.default_model = text_of(set.value_or(std::string()));
    here.default_error = error;
}

// Adds the display name of the model at `path`; that of an Ollama model is in its manifest.
void name_model(ModelsHere& here, const QString& path)
{
    const std::filesystem::path file = path.toStdString();
    if (file.is_absolute()) here.names[path] = text_of(storage::model_name(file));
}

} // namespace

ModelsHere find_models_here(const ModelQuery& wanted, const std::stop_token& stop)
{
    ModelsHere here;
    const std::function<void()> steps[] = {
        [&] { find_default(here); },
        [&] { here.models = storage::find_models(wanted.folders, storage::FindDetail::Names).models; },
        [&] { name_model(here, here.default_model); },
        [&] { name_model(here, wanted.chosen); },
    };
    for (const auto& step : steps) {
        if (stop.stop_requested()) break;
        try_to(step);
    }
    return here;
}

struct ModelSearch::State {
    const FindModels find;
    std::mutex mutex; // guards the members below
    std::condition_variable_any changed;
    ModelSearch* owner; // null: the search object is destroyed
    std::optional<ModelQuery> wanted;
    uint64_t newest = 0; // number of the latest call of look_in()
    bool is_searching = false;

    State(FindModels with, ModelSearch* search)
        : find(with ? std::move(with) : FindModels(find_models_here)), owner(search)
    {
    }
};

ModelSearch::ModelSearch(FindModels find, QObject* parent)
    : QObject(parent), state_(std::make_shared<State>(std::move(find), this)),
      thread_([state = state_](const std::stop_token& stop) { work(state, stop); })
{
}

ModelSearch::~ModelSearch()
{
    thread_.request_stop();
    std::unique_lock lock(state_->mutex);
    state_->owner = nullptr;
    const bool has_ended = state_->changed.wait_for(lock, patience, [this] { return !state_->is_searching; });
    lock.unlock();
    if (!has_ended) thread_.detach();
}

void ModelSearch::look_in(const ModelQuery& wanted)
{
    const std::lock_guard lock(state_->mutex);
    state_->wanted = wanted;
    ++state_->newest;
    state_->changed.notify_all();
}

void ModelSearch::work(const std::shared_ptr<State>& state, const std::stop_token& stop)
{
    while (true) {
        std::unique_lock lock(state->mutex);
        state->changed.wait(lock, stop, [&] { return state->wanted.has_value(); });
        if (stop.stop_requested()) return;
        const ModelQuery wanted = *std::exchange(state->wanted, std::nullopt);
        const uint64_t number = state->newest;
        state->is_searching = true;
        lock.unlock();

        ModelsHere here;
        try_to([&] { here = state->find(wanted, stop); });

        lock.lock();
        state->is_searching = false;
        state->changed.notify_all();
        if (!state->owner) return;
        const auto tell = [search = state->owner, number, here = std::move(here)] {
            const bool is_newest = [&] {
                const std::lock_guard now(search->state_->mutex);
                return number == search->state_->newest;
            }();
            if (is_newest) Q_EMIT search->found(here);
        };
        QMetaObject::invokeMethod(state->owner, tell, Qt::QueuedConnection);
    }
}

} // namespace palimpsest::ui
