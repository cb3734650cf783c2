// Where things are, as whoever starts the window knows it.
#pragma once

#include <QString>
#include <QStringList>

#include "storage/models/model_folders.h"

namespace palimpsest::ui {

struct WindowPlaces {
    QString database{};
    QString shipped_model{}; // empty: there is none
    QString sample{};        // a document to begin with; empty: there is none
    QString models_folder{}; // the usual one
    QString version{};
    QStringList languages{};              // there is a translation for
    QString default_model{};              // that was set or installed; empty: the shipped one
    storage::ModelFolders other_models{}; // of other programs
};

} // namespace palimpsest::ui
