#include "ui/engine/library_addition.h"

#include <iostream>
#include <string>
#include <vector>

#include "storage/session/document_folders.h"
#include "storage/session/library_addition.h"
#include "ui/base/wording.h"
#include "ui/engine/engine_thread.h"

namespace palimpsest::ui {

QString add_to_library(storage::Store& store, const std::shared_ptr<const engine::Model>& model,
                       storage::Listener& listener, const QStringList& paths,
                       const std::function<void(double)>& progress)
{
    std::vector<std::string> names;
    for (const QString& path : paths)
        names.push_back(path.toStdString());
    const auto found = storage::find_documents(names, listener.stop());
    if (found.files.empty())
        throw Error(ErrorKind::NotFound, ErrorCode::DocumentNotFound, Text::escaped(names.empty() ? "" : names[0]),
                    Text("there is no document in the folders"), Text("give files, or folders that have some"));
    storage::LibraryAddition addition(store, model, listener);
    int added = 0, known = 0, failed = 0, done = 0;
    QString reason;
    for (const std::string& file : found.files) {
        const storage::AddedFile one = addition.add(file, std::cin);
        if (one.error && reason.isEmpty()) reason = shown(*one.error);
        ++(one.error ? failed : one.is_new ? added : known);
        progress(static_cast<double>(++done) / static_cast<double>(found.files.size()));
    }
    QString report = EngineThread::tr("%n document(s) were added to the library.", nullptr, added);
    if (known > 0) report += u' ' + EngineThread::tr("%n were there before.", nullptr, known);
    if (failed > 0)
        report +=
            u' ' + EngineThread::tr("%n could not be read, the first because: %1", nullptr, failed).arg(reason);
    return report;
}

} // namespace palimpsest::ui
