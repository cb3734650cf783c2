// Classifies a file or folder that was dropped on the window or named on the command line.
#pragma once

#include <QString>

namespace palimpsest::ui {

enum class FileKind {
    Document,
    Model,       // a .gguf file, or a folder with a config.json
    ModelFolder, // a folder that contains models
    Export,      // an exported session
    Folder,      // another folder, perhaps of documents
    Nothing      // the path does not exist
};

// Decides by names and, for a folder, by the names in it; of a file it reads the beginning, as storage::is_export
// does.
FileKind kind_of(const QString& path);

// Name patterns of the readable documents, for a file dialog ("*.txt *.md").
QString document_patterns();

// The name of an exported file: with `ending` (".html") in place of ".palimpsest", or behind it, unless its own
// ending names the format of a transcript.
QString with_export_ending(const QString& file, const QString& ending);

// Paths of the models in a folder, sorted by name; empty if there is no such folder.
QStringList models_in(const QString& folder);
// Derived from the path alone; does not access the disk.
QString model_name(const QString& path);

} // namespace palimpsest::ui
