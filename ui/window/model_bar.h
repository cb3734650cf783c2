// The tool bar: the commands used most, the model and the device.
#pragma once

#include <QToolBar>

#include "ui/window/preferences.h"
#include "ui/window/window_places.h"

class QComboBox;

namespace palimpsest::ui {

class Actions;

class ModelBar : public QToolBar {
    Q_OBJECT
public:
    ModelBar(const Actions& actions, const WindowPlaces& places, QWidget* parent);

    void set_choice(const ModelChoiceWish& choice, const QString& models_folder);
    void set_default(const QString& path); // which an empty choice means
    // Loaded now; empty: none is.
    void set_loaded(const QString& name, const QString& device);

Q_SIGNALS:
    void model_wanted(const QString& path);   // empty: the default
    void default_wanted(const QString& path); // from now on
    void device_wanted(const QString& device);
    void other_model_wanted(); // to be chosen by the user

private:
    void choose_model(int index);
    void fill_models();

    void add_found_models();

    QString shipped_, default_, folder_; // default_ empty: the shipped one
    storage::ModelFolders elsewhere_;
    ModelChoiceWish choice_;
    QComboBox *models_, *devices_;
};

} // namespace palimpsest::ui
