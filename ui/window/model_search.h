// Looks for the models of this machine on a thread of its own: a slow disk delays a list, never the window.
//
// Lives on the window's thread, where look_in returns at once and `found` arrives.
#pragma once

#include <QObject>
#include <QString>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

#include "storage/models/model_finder.h"

namespace palimpsest::ui {

struct ModelsHere {
    QString default_model{}; // path of the one that was set or installed; empty: there is none
    std::vector<storage::FoundModel> models{};
};

// May take as long as the disk does. Throws nothing.
using FindModels = std::function<ModelsHere(const storage::ModelFolders&)>;

// In those folders, and the default that the command has too.
ModelsHere find_models_here(const storage::ModelFolders& folders);

class ModelSearch : public QObject {
    Q_OBJECT
public:
    explicit ModelSearch(FindModels find, QObject* parent = nullptr); // null: find_models_here
    ~ModelSearch() override;                                          // waits for a search that is under way

    // `found` comes once for the newest call; what an earlier one would have found is dropped.
    void look_in(const storage::ModelFolders& folders);

Q_SIGNALS:
    void found(const palimpsest::ui::ModelsHere& models);

private:
    void work(std::stop_token stop);

    const FindModels find_;
    std::mutex mutex_;
    std::condition_variable_any wake_;
    std::optional<storage::ModelFolders> wanted_;
    uint64_t newest_ = 0; // number of the newest call
    std::jthread thread_; // last: it uses all the others
};

} // namespace palimpsest::ui
