// Between a view of comparisons and the thread that computes them: one comparison at a time, in its turn among the
// thread's commands.
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
    // Both must outlive this.
    CompareControl(EngineThread& engine, CompareView& view, QObject* parent = nullptr);

private:
    void start(const CompareRequest& request);
    void stop();
    void end(quint64 command, const QString& trouble);

    EngineThread& engine_;
    CompareView& view_;
    std::shared_ptr<CompareExchange> exchange_; // the work shares it
    std::optional<CommandId> command_;          // the one that runs or waits
};

} // namespace palimpsest::ui
