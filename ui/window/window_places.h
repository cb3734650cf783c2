// File locations on this machine, determined when the window starts.
#pragma once

#include <QString>
#include <QStringList>

#include "storage/models/model_folders.h"
#include "ui/window/model_search.h"

namespace palimpsest::ui {

struct WindowPlaces {
    QString database{};
    QString shipped_model{}; // empty: none
    QString sample{};        // path of the sample document; empty: none
    QString models_folder{}; // the default folder
    QString version{};
    QStringList languages{};              // codes of the available translations
    storage::ModelFolders other_models{}; // model folders of other programs
    FindModels find_models{};             // null: find_models_here

    QString models_folder_or(const QString& chosen) const { return chosen.isEmpty() ? models_folder : chosen; }
};

} // namespace palimpsest::ui
