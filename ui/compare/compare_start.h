// From what a reader chose to a comparison on the engine's thread, and its states back to the window.
#pragma once

#include <QObject>
#include <mutex>
#include <vector>

#include "storage/library.h"
#include "ui/compare/compare_run.h"
#include "ui/engine/engine_thread.h"

namespace palimpsest::ui {

struct CompareRequest {
    QString what; // the name of the text
    // The text: documents of the open session, one after the other, or a file.
    std::vector<storage::DocumentInfo> documents;
    QString file;
    struct Choice {
        QString policy, budget; // as --policy and --budget take them
    };
    std::vector<Choice> choices;
    int chunk = 512;
};

// The computation, on the engine's thread. Throws Error as compare() does, and for a text that cannot be read:
// (NotFound, PAL-DOC-00) for documents that are not in the store any more, (Usage, PAL-DOC-07) for tokens of
// another model.
std::shared_ptr<const CompareState> compare(EngineThread::Tools& tools, const CompareRequest& request,
                                            const CompareSink& sink);

// The newest state, handed from the thread that computes to the one it lives on: `changed` comes once until take()
// was called, whatever was put meanwhile.
class CompareExchange final : public QObject {
    Q_OBJECT
public:
    using QObject::QObject;
    void put(std::shared_ptr<const CompareState> state); // on any thread
    std::shared_ptr<const CompareState> take();

Q_SIGNALS:
    void changed();

private:
    std::mutex mutex_;
    std::shared_ptr<const CompareState> newest_;
    bool told_ = false;
};

} // namespace palimpsest::ui
