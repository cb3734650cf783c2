// What a file or folder that was dropped or given is to this program.
#pragma once

#include <QString>

namespace palimpsest::ui {

enum class FileKind {
    Document,
    Model,       // a .gguf file, or a folder with a config.json
    ModelFolder, // a folder with models in it
    Export,      // a session that was exported
    Nothing      // it is not there, or a folder without a model
};

// Looks at names, and into a folder, but not into files.
FileKind kind_of(const QString& path);

// For a dialog: the endings of documents that can be read, as patterns ("*.txt *.md").
QString document_patterns();

// Models of a folder: paths, by name. None if there is no such folder.
QStringList models_in(const QString& folder);
// By the path alone, without a look at the disk.
QString model_name(const QString& path);

} // namespace palimpsest::ui
