// The system prompt of a session, above its chat: one line that unfolds into a field.
//
// It can be written until the session's first text is computed, and is only read from then on: the model has it in
// its cache. Without an open session it is what the next one begins with.
#pragma once

#include <QString>
#include <QWidget>
#include <optional>

#include "ui/engine/session_facts.h"

class QLabel;
class QPlainTextEdit;
class QToolButton;

namespace palimpsest::ui {

class Instructions : public QWidget {
    Q_OBJECT
public:
    explicit Instructions(QWidget* parent = nullptr);

    QPlainTextEdit* field() const { return field_; }
    QString text() const; // without white space around it
    bool is_unfolded() const;
    void set_unfolded(bool unfolded);

    void set_usual(const QString& system); // that a session begins with unless other ones were written for it
    void set_has_place(bool has_place);    // whether the loaded model's template has a place for a system prompt
    void show_session(const SessionFacts* facts); // null: none is open
    void commit();                                // wants what was written, if it is not what the session has

Q_SIGNALS:
    void drafted(const QString& system); // for the next session, while none is open; at every change
    void wanted(const QString& system);  // for the open session, once the field is left

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;
    void changeEvent(QEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    enum class State { NoSession, Open, Begun };

    void show_text(const QString& text);
    void field_changed();
    void update_note();
    void update_summary();
    void restyle();

    QToolButton* header_;
    QLabel *summary_, *note_;
    QWidget* body_;
    QPlainTextEdit* field_;
    State state_ = State::NoSession;
    int64_t session_ = 0;
    QString usual_, shown_;         // shown_: as the session has it, or as it was last wanted
    std::optional<QString> wanted_; // the session does not have it yet
    bool has_place_ = true, is_shown_ = false;
};

} // namespace palimpsest::ui
