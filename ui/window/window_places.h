// Where things are on this machine: found when the window starts.
#pragma once

#include <QString>
#include <QStringList>

#include "storage/models/model_folders.h"
#include "ui/window/model_search.h"

namespace palimpsest::ui {

struct WindowPlaces {
    QString database{};
    QString shipped_model{}; // empty: there is none
    QString sample{};        // a document to begin with; empty: there is none
    QString models_folder{}; // the usual one
    QString version{};
    QStringList languages{};              // there is a translation for
    storage::ModelFolders other_models{}; // of other programs
    FindModels find_models{};             // null: find_models_here
};

} // namespace palimpsest::ui
