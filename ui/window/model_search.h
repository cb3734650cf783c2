// Searches for models on this machine on a separate thread, so that a slow disk never blocks the window.
//
// The object belongs to the window's thread: look_in() returns at once, and `found` is emitted on that thread.
#pragma once

#include <QObject>
#include <QString>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

#include "kernels/base/error.h"
#include "storage/models/model_finder.h"

namespace palimpsest::ui {

struct ModelQuery {
    storage::ModelFolders folders{};
    QString chosen{}; // path or name of the model that the window uses; empty: the default
};

struct ModelsHere {
    QString default_model{};                   // path of the configured or installed model; empty: none
    std::optional<Error> default_error{};      // why default_model, the configured path, cannot be used
    std::map<QString, QString> names{};        // display names of the default and the chosen model, by path
    std::vector<storage::FoundModel> models{}; // found in the folders
};

// A search for models. It may block as long as the disk does, even after the window is closed. Its result is
// ignored once a stop is requested.
using FindModels = std::function<ModelsHere(const ModelQuery&, const std::stop_token&)>;

// Searches the folders of `wanted` and determines the default model of the command. Throws nothing: if a step
// fails, the result lacks what it would have found.
ModelsHere find_models_here(const ModelQuery& wanted, const std::stop_token& stop);

class ModelSearch : public QObject {
    Q_OBJECT
public:
    explicit ModelSearch(FindModels find, QObject* parent = nullptr); // null: find_models_here
    // Waits up to half a second for a running search; a search that hangs on its disk is detached.
    ~ModelSearch() override;

    // `found` is emitted once, for the newest call; results of earlier calls are dropped.
    void look_in(const ModelQuery& wanted);

Q_SIGNALS:
    void found(const palimpsest::ui::ModelsHere& models);

private:
    struct State;
    static void work(const std::shared_ptr<State>& state, const std::stop_token& stop);

    std::shared_ptr<State> state_; // shared with the thread, which may outlive this object
    std::jthread thread_;
};

} // namespace palimpsest::ui
