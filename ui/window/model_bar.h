// The tool bar: frequent actions, the model and the device.
//
// Another thread searches the model folders; until it has finished, the list shows the models that are known
// already.
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

    void set_choice(const ModelChoiceRequest& choice, const QString& models_folder);
    void refresh_area(); // starts a search for models; the list is updated when it ends
    bool is_looking() const { return !found_; }
    // Shows the name and device of the model in memory. An empty name: none is loaded.
    void set_loaded(const QString& name, const QString& device);

Q_SIGNALS:
    void model_wanted(const QString& path);   // `path` empty: the default model
    void default_wanted(const QString& path); // store it as the default of the command
    void device_wanted(const QString& device);
    void other_model_wanted(); // the user wants to choose a file

private:
    void choose_model(int index);
    void show_found(const ModelsHere& models);
    void look();
    bool is_known(const QString& path) const; // whether the search knows the display name of the model
    QString name_of(const QString& path) const;
    void fill_models();
    void add_default();
    bool has_other_default() const; // REQUIRES: found_
    void add_missing_default();
    void add_found_models();

    QString shipped_, folder_;
    std::optional<ModelsHere> found_; // nullopt: the search is still running
    ModelSearch search_;
    storage::ModelFolders elsewhere_;
    ModelChoiceRequest choice_;
    QComboBox *models_, *devices_;
};

} // namespace palimpsest::ui
