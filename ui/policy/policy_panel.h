// Panel for a session's policy: a list of all policies, fields for budget, chunk and the policy's parameters,
// checked by the engine as the user types, and the memory that the settings take.
//
// Keys: Down in the search goes to the list; Ctrl+Return applies; Ctrl+Shift+R restores the defaults.
#pragma once

#include <QWidget>
#include <memory>
#include <vector>

#include "engine/policy/named/policy_info.h"
#include "ui/engine/engine_thread.h"
#include "ui/policy/policy_check.h"

class QLabel;
class QLineEdit;
class QListView;
class QMessageBox;
class QPushButton;
class QSpinBox;
class QToolButton;
class QVBoxLayout;

namespace palimpsest::ui {

class ParameterField;
class PolicySearch;

class PolicyPanel final : public QWidget {
    Q_OBJECT
public:
    explicit PolicyPanel(QWidget* parent = nullptr);

    // The model that settings are checked against; the panel does not keep it alive.
    void set_model(const std::shared_ptr<const engine::Model>& model);
    // Shows the settings of the open session, unless the user has unsaved changes. Null: no session is open, and
    // the panel shows the defaults.
    void set_session(std::shared_ptr<const SessionFacts> session);
    void set_defaults(const NewSession& defaults); // settings that a new session starts with

    NewSession request() const; // the settings in the fields
    void set_request(const NewSession& request);
    const PolicyCheck& check() const { return check_; }

public Q_SLOTS:
    void restore_defaults(); // resets budget, chunk and parameters; the policy stays
    // Emits apply_wanted. With a session open, first asks whether to start a copy or to continue the session.
    void apply();

Q_SIGNALS:
    void apply_wanted(const palimpsest::ui::NewSession& request, bool from_the_start);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    QWidget* make_chooser();
    QWidget* make_fields();
    QWidget* make_buttons();
    void show_policy(const engine::PolicyInfo& info);
    void select(const QString& policy);
    void choose_current();
    void search(const QString& words);
    void look(); // checks the current settings and marks them as changed by the user
    void show_check();
    void ask(const NewSession& request);
    QString price() const;

    std::weak_ptr<const engine::Model> model_;
    std::shared_ptr<const SessionFacts> session_;
    NewSession defaults_;
    QString policy_;
    PolicyCheck check_;
    bool filling_ = false, searching_ = false, touched_ = false;

    QLineEdit *search_, *budget_;
    PolicySearch* found_;
    QListView* list_;
    QSpinBox* chunk_;
    QLabel *description_, *budget_trouble_, *chunk_trouble_, *trouble_, *price_;
    QToolButton* options_button_;
    QWidget* options_;
    QVBoxLayout* options_layout_;
    std::vector<ParameterField*> parameters_;
    QPushButton* apply_;
};

} // namespace palimpsest::ui
