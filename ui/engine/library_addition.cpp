#include "ui/engine/library_addition.h"

#include <algorithm>
#include <climits>
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
                       const std::function<void(double share, bool is_new)>& progress)
{
    std::vector<std::string> names;
    for (const QString& path : paths)
        names.push_back(path.toStdString());
    const auto found = storage::find_documents(names, listener.stop());
    if (listener.stop().stop_requested()) throw storage::Interrupted{Text("Stopped. Nothing was added.")};
    if (found.files.empty())
        throw Error(ErrorKind::NotFound, ErrorCode::DocumentNotFound, Text::escaped(names.empty() ? "" : names[0]),
                    Text("there is no document in the folders"), Text("give files, or folders that have some"));
    storage::LibraryAddition addition(store, model, listener);
    int added = 0, known = 0, failed = 0, done = 0;
    QString reason;
    for (const std::string& file : found.files) {
        const storage::AddedFile one = [&] {
            try {
                return addition.add(file, std::cin);
            } catch (const storage::Interrupted&) {
                throw storage::Interrupted{
                    Text("Stopped after {0} of {1} files, which are stored; add the folder again "
                         "for the others.",
                         done, found.files.size())};
            }
        }();
        if (one.error && reason.isEmpty()) reason = shown(*one.error);
        ++(one.error ? failed : one.is_new ? added : known);
        progress(static_cast<double>(++done) / static_cast<double>(found.files.size()), one.is_new);
    }
    QString report = EngineThread::tr("%n document(s) were added to the library.", nullptr, added);
    if (known > 0) report += u' ' + EngineThread::tr("%n were there before.", nullptr, known);
    if (failed > 0)
        report +=
            u' ' + EngineThread::tr("%n could not be read, the first because: %1", nullptr, failed).arg(reason);
    if (found.other_files > 0)
        report += u' ' + EngineThread::tr("%n other file(s) in the folders were left out.", nullptr,
                                          static_cast<int>(std::min<uint64_t>(found.other_files, INT_MAX)));
    if (!found.unreadable.empty())
        report +=
            u' ' + EngineThread::tr("%1 cannot be read.").arg(QString::fromStdString(found.unreadable.front()));
    return report;
}

} // namespace palimpsest::ui
