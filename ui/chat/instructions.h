// The system prompt of a session, above its chat: a single line that unfolds into a field.
//
// It can be edited until the session's first tokens are computed; after that it is read-only, because it is in the
// cache. Without an open session, the field holds the system prompt of the next one.
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
    QString text() const; // without surrounding white space
    bool is_unfolded() const;
    void set_unfolded(bool unfolded);

    void set_usual(const QString& system);        // the default system prompt of new sessions
    void set_has_place(bool has_place);           // whether the model's template supports a system prompt
    void show_session(const SessionFacts* facts); // null: no session is open
    void commit();                                // emits wanted() if the text differs from the session's

Q_SIGNALS:
    void drafted(const QString& system); // at each change, while no session is open
    void wanted(const QString& system);  // when the text for the open session has been edited

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
    QString usual_, shown_;         // shown_: the session's text, or the last one requested
    std::optional<QString> wanted_; // requested, but not in the session yet
    bool template_has_system_prompt_ = true, is_shown_ = false;
};

} // namespace palimpsest::ui
