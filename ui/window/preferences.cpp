#include "ui/window/preferences.h"

#include <QFileInfo>
#include <algorithm>
#include <cmath>

#include "storage/snapshot_form.h"

namespace palimpsest::ui {
namespace {

constexpr int most_recent_files = 12;

// Visits every preference with its key; used for both loading and saving.
template<class P, class Visit>
void each(P& p, Visit&& visit)
{
    visit("models/folder", p.models_folder);
    visit("models/model", p.model.model);
    visit("models/device", p.model.device);
    visit("models/threads", p.model.threads);
    visit("storage/database", p.database);
    visit("window/language", p.language);
    visit("window/enter_sends", p.enter_sends);
    visit("window/colours", p.colours);
    visit("window/text_percent", p.text_percent);
    visit("window/reduced_motion", p.reduced_motion);
    visit("session/policy", p.policy);
    visit("session/budget", p.budget);
    visit("session/chunk", p.chunk);
    visit("session/snapshot", p.snapshot);
    visit("session/system", p.system);
    visit("session/max_tokens", p.max_tokens);
    visit("session/rereads", p.rereads);
    visit("session/answers_from_sentences", p.answers_from_sentences);
    visit("session/writes_notes", p.writes_notes);
    visit("window/suggests_questions", p.suggests_questions);
    visit("sampling/temperature", p.sampling.temperature);
    visit("sampling/top_p", p.sampling.top_p);
    visit("sampling/top_k", p.sampling.top_k);
    visit("sampling/min_p", p.sampling.min_p);
    visit("sampling/repeat_penalty", p.sampling.repeat_penalty);
    visit("sampling/seed", p.sampling.seed);
}

void take(const QVariant& stored, QString& value)
{
    value = stored.toString();
}
void take(const QVariant& stored, bool& value)
{
    value = stored.toBool();
}
void take(const QVariant& stored, Colours& value)
{
    value = static_cast<Colours>(std::clamp(stored.toInt(), 0, static_cast<int>(Colours::Dark)));
}
template<class Number>
void take(const QVariant& stored, Number& value)
{
    bool is_number = false;
    if constexpr (std::is_floating_point_v<Number>) {
        const double number = stored.toDouble(&is_number);
        if (is_number && std::isfinite(number)) value = number;
    } else {
        const auto number = std::is_signed_v<Number> ? static_cast<Number>(stored.toLongLong(&is_number))
                                                     : static_cast<Number>(stored.toULongLong(&is_number));
        if (is_number) value = number;
    }
}

QVariant stored(const QString& value)
{
    return value;
}
QVariant stored(bool value)
{
    return value;
}
QVariant stored(Colours value)
{
    return static_cast<int>(value);
}
template<class Number>
QVariant stored(Number value)
{
    if constexpr (std::is_floating_point_v<Number>)
        return value;
    else if constexpr (std::is_signed_v<Number>)
        return static_cast<qlonglong>(value);
    else
        return static_cast<qulonglong>(value);
}

// Lets QSettings overwrite its file instead of replacing it atomically, which would make the window's thread wait
// for the disk.
void write_at_once(QSettings& settings)
{
    settings.setAtomicSyncRequired(false);
}

} // namespace

NewSession Preferences::new_session() const
{
    return {.name = {},
            .policy = policy,
            .budget = budget,
            .chunk = chunk,
            .snapshot = snapshot,
            .system = system,
            .saved = true};
}

PreferenceStore::PreferenceStore()
    : settings_(QSettings::IniFormat, QSettings::UserScope, QStringLiteral("palimpsest"), QStringLiteral("window"))
{
    write_at_once(settings_);
}

PreferenceStore::PreferenceStore(const QString& file) : settings_(file, QSettings::IniFormat)
{
    write_at_once(settings_);
}

Preferences PreferenceStore::load() const
{
    Preferences preferences;
    preferences.sampling.temperature = 0.7; // the default of `chat`
    each(preferences, [&](const char* key, auto& value) {
        const QVariant found = settings_.value(QLatin1String(key));
        if (found.isValid()) take(found, value);
    });
    if (!storage::form_named(preferences.snapshot.toStdString())) preferences.snapshot = Preferences().snapshot;
    preferences.text_percent = std::clamp(preferences.text_percent, least_text_percent, most_text_percent);
    return preferences;
}

void PreferenceStore::save(const Preferences& preferences)
{
    each(preferences,
         [&](const char* key, const auto& value) { settings_.setValue(QLatin1String(key), stored(value)); });
}

QStringList PreferenceStore::recent_files() const
{
    return settings_.value(QStringLiteral("recent/files")).toStringList();
}

void PreferenceStore::add_recent_file(const QString& file)
{
    QStringList files = recent_files();
    const QString path = QFileInfo(file).absoluteFilePath();
    files.removeAll(path);
    files.prepend(path);
    settings_.setValue(QStringLiteral("recent/files"), files.mid(0, most_recent_files));
}

void PreferenceStore::clear_recent_files()
{
    settings_.remove(QStringLiteral("recent/files"));
}

QString PreferenceStore::last_session() const
{
    return settings_.value(QStringLiteral("recent/session")).toString();
}

void PreferenceStore::set_last_session(const QString& name)
{
    settings_.setValue(QStringLiteral("recent/session"), name);
}

bool PreferenceStore::tour_was_taken() const
{
    return settings_.value(QStringLiteral("window/tour_taken")).toBool();
}

void PreferenceStore::set_tour_taken()
{
    settings_.setValue(QStringLiteral("window/tour_taken"), true);
}

QByteArray PreferenceStore::geometry() const
{
    return settings_.value(QStringLiteral("window/geometry")).toByteArray();
}

QByteArray PreferenceStore::layout() const
{
    return settings_.value(QStringLiteral("window/layout")).toByteArray();
}

void PreferenceStore::set_geometry(const QByteArray& geometry)
{
    settings_.setValue(QStringLiteral("window/geometry"), geometry);
}

void PreferenceStore::set_layout(const QByteArray& layout)
{
    settings_.setValue(QStringLiteral("window/layout"), layout);
}

} // namespace palimpsest::ui
