#include "ui/engine/library_commands.h"

#include <utility>

#include "storage/session/exported_session.h"
#include "storage/session/stored_session.h"
#include "storage/transcript/transcript.h"
#include "storage/transcript/transcript_format.h"
#include "storage/transfer.h"
#include "ui/base/file_writer.h"
#include "ui/base/wording.h"

namespace palimpsest::ui {

LibraryCommands::LibraryCommands(EngineThread& owner, const CommandLoop& loop, UserDatabase& database,
                                 OpenSession& open, std::function<void()> publish_facts)
    : owner_(owner), loop_(loop), database_(database), open_(open), publish_facts_(std::move(publish_facts))
{
}

// Saves the session if it is open. In the middle of another command it cannot be saved: the caller then uses its
// last checkpoint.
void LibraryCommands::save_if_open(const QString& name)
{
    if (open_.session() && open_.is_open(name) && !loop_.is_interleaving()) open_.session()->save();
}

void LibraryCommands::export_session(const QString& name, const QString& file)
{
    save_if_open(name);
    storage::Store& store = database_.store();
    const storage::SessionInfo session = store.conversations.get(name.toStdString());
    QString sentence = EngineThread::tr("“%1” was exported to %2.").arg(name, file);
    if (const auto format = storage::transcript_format_of(file.toStdString())) {
        storage::require_absent(file.toStdString());
        const auto transcript = storage::Transcript::of(store, session);
        write_file(
            file, [&](std::ostream& out) { storage::write_transcript(transcript, *format, WindowWording(), out); });
    } else {
        const auto written = storage::export_session(store.database, session.id, file.toStdString());
        for (const Text& loss : written.losses.sentences())
            sentence += QLatin1Char('\n') + shown(loss);
    }
    Q_EMIT owner_.noted(sentence);
}

QString LibraryCommands::import_session(const QString& file)
{
    // In the middle of another command, the stop is that one's.
    const auto stop = loop_.is_interleaving() ? std::stop_token() : loop_.stop();
    const auto opened = storage::open_export(database_.store(), file.toStdString(), {}, {}, stop);
    const QString name = QString::fromStdString(opened.session.name);
    Q_EMIT owner_.library_changed();
    if (opened.is_new) Q_EMIT owner_.noted(EngineThread::tr("“%1” is in the library now.").arg(name));
    return name;
}

void LibraryCommands::rename_session(const QString& name, const QString& to)
{
    if (open_.is_open(name)) {
        open_.rename(to.toStdString());
    } else {
        storage::Conversations& conversations = database_.store().conversations;
        conversations.rename(conversations.get(name.toStdString()).id, to.toStdString());
    }
    Q_EMIT owner_.library_changed();
    if (open_.is_open(to)) publish_facts_();
}

void LibraryCommands::fork_session(const QString& name, const QString& to)
{
    save_if_open(name);
    storage::fork_session(database_.store(), name.toStdString(), to.toStdString());
    Q_EMIT owner_.library_changed();
}

void LibraryCommands::remove_session(const QString& name)
{
    const bool was_open = open_.is_open(name);
    storage::Conversations& conversations = database_.store().conversations;
    const auto backup_error = conversations.remove(conversations.get(name.toStdString()).id);
    if (was_open) { // drops the turns that could not be stored, too
        open_.close();
        publish_facts_();
    }
    tell_backup_error(backup_error);
    Q_EMIT owner_.library_changed();
}

void LibraryCommands::tell_backup_error(const std::optional<Error>& error)
{
    if (error) Q_EMIT owner_.noted(shown(Text("what is left has no backup now: {0}", sentence_of(*error))));
}

void LibraryCommands::keep(const std::vector<int64_t>& documents)
{
    for (const int64_t document : documents)
        database_.store().library.keep(document);
    Q_EMIT owner_.library_changed();
}

void LibraryCommands::stop_keeping(const std::vector<int64_t>& documents)
{
    tell_backup_error(database_.store().library.stop_keeping(documents));
    Q_EMIT owner_.library_changed();
}

} // namespace palimpsest::ui
