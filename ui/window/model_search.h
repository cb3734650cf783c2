// Looks for the models of this machine on a thread of its own: a slow disk delays a list, never the window.
//
// Lives on the window's thread, where look_in returns at once and `found` arrives.
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

struct ModelsWanted {
    storage::ModelFolders folders{};
    QString chosen{}; // path or name of the model that the window uses; empty: the default
};

struct ModelsHere {
    QString default_model{};                   // path of the one that was set or installed; empty: there is none
    std::optional<Error> default_error{};      // why it cannot be had; default_model is then what was set, if known
    std::map<QString, QString> names{};        // of the default and of the chosen model, by path
    std::vector<storage::FoundModel> models{}; // in the folders
};

// May take as long as the disk does, also after the window is gone. Once a stop is requested the result is not
// used.
using FindModels = std::function<ModelsHere(const ModelsWanted&, const std::stop_token&)>;

// In those folders, and the default that the command has too. Throws nothing: what cannot be found out is left out.
ModelsHere find_models_here(const ModelsWanted& wanted, const std::stop_token& stop);

class ModelSearch : public QObject {
    Q_OBJECT
public:
    explicit ModelSearch(FindModels find, QObject* parent = nullptr); // null: find_models_here
    // Waits a moment for a search that is under way. One that hangs on its disk is left to itself.
    ~ModelSearch() override;

    // `found` comes once for the newest call; what an earlier one would have found is dropped.
    void look_in(const ModelsWanted& wanted);

Q_SIGNALS:
    void found(const palimpsest::ui::ModelsHere& models);

private:
    struct State;
    static void work(const std::shared_ptr<State>& state, const std::stop_token& stop);

    std::shared_ptr<State> state_; // the thread's as well, which may outlive this
    std::jthread thread_;
};

} // namespace palimpsest::ui
