// Connects a CompareView with the engine thread: runs one comparison at a time as a command of the queue.
#pragma once

#include <QObject>
#include <memory>
#include <optional>

#include "ui/compare/compare_start.h"

namespace palimpsest::ui {

class CompareView;

class CompareControl final : public QObject {
    Q_OBJECT
public:
    // `engine` and `view` must outlive this object.
    CompareControl(EngineThread& engine, CompareView& view, QObject* parent = nullptr);

private:
    void start(const CompareRequest& request);
    void stop();
    void end(quint64 command, const QString& trouble);

    EngineThread& engine_;
    CompareView& view_;
    std::shared_ptr<CompareExchange> exchange_; // of the last comparison; shared with its command
    std::optional<CommandId> command_;          // the running or waiting command
};

} // namespace palimpsest::ui
