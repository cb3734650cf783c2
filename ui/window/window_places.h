// Where things are, as whoever starts the window knows it.
#pragma once

#include <QString>
#include <QStringList>

namespace palimpsest::ui {

struct WindowPlaces {
    QString database{};
    QString shipped_model{}; // empty: there is none
    QString sample{};        // a document to begin with; empty: there is none
    QString models_folder{}; // the usual one
    QString version{};
    QStringList languages{}; // there is a translation for
};

} // namespace palimpsest::ui
