// The tool bar: the commands used most, the model and the device.
//
// The folders of models are looked through on another thread; until that is done, the list has what is known.
#pragma once

#include <QToolBar>
#include <optional>

#include "ui/window/model_search.h"
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
    void look_again(); // for models; the list follows once they are found
    bool is_looking() const { return !found_; }
    // Loaded now; empty: none is.
    void set_loaded(const QString& name, const QString& device);

Q_SIGNALS:
    void model_wanted(const QString& path);   // empty: the default
    void default_wanted(const QString& path); // from now on
    void device_wanted(const QString& device);
    void other_model_wanted(); // to be chosen by the user

private:
    void choose_model(int index);
    void show_found(const ModelsHere& models);
    void look();
    bool is_known(const QString& path) const; // what the search calls the model there
    QString name_of(const QString& path) const;
    void fill_models();
    void add_default();
    bool has_other_default() const; // REQUIRES: found_
    void add_missing_default();
    void add_found_models();

    QString shipped_, folder_;
    std::optional<ModelsHere> found_; // none: they are still looked for
    ModelSearch search_;
    storage::ModelFolders elsewhere_;
    ModelChoiceWish choice_;
    QComboBox *models_, *devices_;
};

} // namespace palimpsest::ui
