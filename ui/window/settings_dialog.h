// The dialog of all preferences, on several pages. Nothing changes until the user accepts it.
#pragma once

#include <QDialog>
#include <vector>

#include "ui/window/preferences.h"
#include "ui/window/stored_places.h"

class QCheckBox;
class QComboBox;
class QDoubleSpinBox;
class QFormLayout;
class QLabel;
class QLineEdit;
class QListWidget;
class QPlainTextEdit;
class QSpinBox;
class QStackedWidget;

namespace palimpsest::ui {

class SeedField;

// Data that the dialog shows besides the preferences.
struct SettingsFacts {
    QString usual_models_folder, usual_database;
    QStringList languages; // codes of the available translations, such as "de"
    std::vector<StoredPlace> places;
};

class SettingsDialog : public QDialog {
    Q_OBJECT
public:
    SettingsDialog(const Preferences& preferences, const SettingsFacts& facts, QWidget* parent);

    Preferences preferences() const; // the current values of the fields

Q_SIGNALS:
    void empty_wanted(); // delete all stored data permanently; the user has confirmed it

private:
    QFormLayout* add_page(const char* symbol, const QString& title);
    void build_models(const SettingsFacts& facts);
    void build_reading();
    void build_window(const SettingsFacts& facts);
    void build_privacy(const SettingsFacts& facts);
    QWidget* with_browse(QLineEdit* field, bool folder, const QString& title);
    void ask_to_empty();
    void check();

    Preferences given_;
    QListWidget* pages_;
    QStackedWidget* stack_;
    QLabel* problem_;
    QPushButton* ok_;
    QLineEdit *models_folder_, *database_, *budget_;
    QPlainTextEdit* system_;
    QComboBox *device_, *language_, *policy_, *snapshot_, *colours_, *send_;
    QSpinBox *threads_, *chunk_, *max_tokens_, *top_k_, *text_percent_;
    QDoubleSpinBox *temperature_, *top_p_, *min_p_, *repeat_penalty_;
    SeedField* seed_;
    QCheckBox* rereads_;
    QCheckBox* answers_from_sentences_;
    QCheckBox* writes_notes_;
    QCheckBox* suggests_questions_;
    QCheckBox* reduced_motion_;
};

} // namespace palimpsest::ui
