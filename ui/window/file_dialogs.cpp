#include "ui/window/file_dialogs.h"

#include <QDir>
#include <QFileDialog>
#include <QFileInfo>

#include "ui/window/file_kind.h"

namespace palimpsest::ui {

FileDialogs::FileDialogs(QWidget* window) : QObject(window), window_(window) {}

void FileDialogs::ask_for_documents(const QString& folder)
{
    const QString filter = tr("Documents (%1)").arg(document_patterns() + QStringLiteral(" *.palimpsest")) +
                           QStringLiteral(";;") + tr("All files (*)");
    const QStringList files = QFileDialog::getOpenFileNames(window_, tr("Open documents"), folder, filter);
    if (!files.isEmpty()) Q_EMIT documents_chosen(files);
}

void FileDialogs::ask_for_folder(const QString& folder)
{
    const QString chosen = QFileDialog::getExistingDirectory(window_, tr("Add a folder to the library"), folder);
    if (!chosen.isEmpty()) Q_EMIT folder_chosen(chosen);
}

void FileDialogs::ask_for_model(const QString& folder)
{
    const QString file =
        QFileDialog::getOpenFileName(window_, tr("Choose a model"), folder, tr("Models (*.gguf config.json)"));
    if (file.isEmpty()) return;
    const QFileInfo info(file);
    const bool is_folder = info.fileName() == QStringLiteral("config.json"); // then the model is the folder
    Q_EMIT model_chosen(is_folder ? info.path() : file);
}

void FileDialogs::ask_for_import()
{
    const QString file = QFileDialog::getOpenFileName(window_, tr("Import a session"), QDir::homePath(),
                                                      tr("Exported sessions (*.palimpsest);;All files (*)"));
    if (!file.isEmpty()) Q_EMIT import_chosen(file);
}

void FileDialogs::ask_where_to_export(const QString& session)
{
    if (session.isEmpty()) return;
    QString name = session;
    name.replace(u'/', u'_');
    // A chosen file that exists is not overwritten: the engine refuses it, and the window shows its message.
    const QStringList formats{tr("Exported sessions (*.palimpsest)"), tr("Transcripts as web pages (*.html)"),
                              tr("Transcripts in Markdown (*.md)"), tr("Transcripts in JSON (*.json)")};
    QString format = formats.first();
    const QString file = QFileDialog::getSaveFileName(
        window_, tr("Export “%1”").arg(session), QDir::home().filePath(name + QStringLiteral(".palimpsest")),
        formats.join(QStringLiteral(";;")), &format, QFileDialog::DontConfirmOverwrite);
    if (file.isEmpty()) return;
    const QString ending = format.mid(format.lastIndexOf(u'.')).chopped(1);
    Q_EMIT export_chosen(session, with_export_ending(file, ending));
}

} // namespace palimpsest::ui
