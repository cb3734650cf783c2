// The tool bar: the commands used most, the model and the device.
#pragma once

#include <QToolBar>

#include "ui/window/preferences.h"

class QComboBox;

namespace palimpsest::ui {

class Actions;

class ModelBar : public QToolBar {
    Q_OBJECT
public:
    ModelBar(const Actions& actions, const QString& shipped_model, QWidget* parent);

    void set_choice(const ModelChoiceWish& choice, const QString& models_folder);
    // Loaded now; empty: none is.
    void set_loaded(const QString& name, const QString& device);

Q_SIGNALS:
    void model_wanted(const QString& path); // empty: the shipped one
    void device_wanted(const QString& device);
    void other_model_wanted(); // to be chosen by the user

private:
    void choose_model(int index);
    void fill_models();

    QString shipped_, folder_;
    ModelChoiceWish choice_;
    QComboBox *models_, *devices_;
};

} // namespace palimpsest::ui
