// The user's preferences, stored in the desktop's configuration folder.
#pragma once

#include <QSettings>
#include <QString>
#include <QStringList>

#include "engine/session/sampler.h"
#include "ui/engine/engine_thread.h"

namespace palimpsest::ui {

enum class Colours { AsDesktop, Light, Dark };

struct Preferences {
    QString models_folder, database; // empty: the defaults
    QString language;                // "de"; empty: the desktop's
    ModelChoiceRequest model;
    QString policy = QStringLiteral("treekv"), budget; // defaults of new sessions, in command-line syntax
    int chunk = engine::default_chunk;
    QString snapshot = QStringLiteral("exact"); // how caches of new sessions are saved, as --snapshot
    QString system;                             // the system prompt of new sessions; empty: none
    engine::SamplerOptions sampling;
    int max_tokens = 1024;
    bool rereads = true; // passages that a question is about and that are not held well are read again
    bool answers_from_sentences = true; // questions about a text are answered from the sentences found alone
    bool writes_notes = false;          // notes are written while documents are read
    bool suggests_questions = true;     // in an empty chat, about a text with notes
    bool enter_sends = true;            // false: Ctrl+Enter sends
    Colours colours = Colours::AsDesktop;
    int text_percent = 100; // relative to the desktop's font size
    bool reduced_motion = false;

    NewSession new_session() const;
};

inline constexpr int least_text_percent = 60, most_text_percent = 300, text_percent_step = 10;

// Stored in one INI file, written on every change. Use from the window's thread only.
class PreferenceStore {
public:
    PreferenceStore(); // stores window.ini in the user's XDG configuration folder
    explicit PreferenceStore(const QString& file);

    Preferences load() const;
    void save(const Preferences& preferences);

    QStringList recent_files() const; // newest first
    void add_recent_file(const QString& file);
    void clear_recent_files();
    QString last_session() const; // the session that was open last
    void set_last_session(const QString& name);
    bool tour_was_taken() const;
    void set_tour_taken();
    QByteArray geometry() const, layout() const; // of the main window
    void set_geometry(const QByteArray& geometry);
    void set_layout(const QByteArray& layout);

    QString file() const { return settings_.fileName(); }
    void sync() { settings_.sync(); }

private:
    QSettings settings_;
};

} // namespace palimpsest::ui
