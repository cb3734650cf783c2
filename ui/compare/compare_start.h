// Starts a comparison on the engine thread from the user's choices, and passes its states back to the window's
// thread.
#pragma once

#include <QObject>
#include <mutex>
#include <vector>

#include "storage/library.h"
#include "ui/compare/compare_run.h"
#include "ui/engine/engine_thread.h"

namespace palimpsest::ui {

struct CompareRequest {
    QString what; // name of the text
    // The text: documents of the open session, one after the other; or `file`, unless it is empty.
    std::vector<storage::DocumentInfo> documents;
    QString file;
    struct Choice {
        QString policy, budget; // in the syntax of --policy and --budget
    };
    std::vector<Choice> choices;
    int chunk = engine::default_chunk;
};

// Runs the comparison; call on the engine thread. Throws the errors of compare(), and for a text that cannot be
// read: (NotFound, PAL-DOC-00) for documents that are no longer in the store, (Usage, PAL-DOC-07) for tokens of
// another model.
std::shared_ptr<const CompareState> compare(EngineThread::Tools& tools, const CompareRequest& request,
                                            const CompareSink& sink);

// Passes the newest state to the thread that owns this object. `changed` is emitted once and then not again until
// take() is called.
class CompareExchange final : public QObject {
    Q_OBJECT
public:
    using QObject::QObject;
    void put(std::shared_ptr<const CompareState> state); // thread-safe
    std::shared_ptr<const CompareState> take();

Q_SIGNALS:
    void changed();

private:
    std::mutex mutex_;
    std::shared_ptr<const CompareState> newest_;
    bool told_ = false;
};

} // namespace palimpsest::ui
