#include "ui/compare/compare_control.h"

#include "ui/compare/compare_view.h"
#include "ui/engine/tools.h"

namespace palimpsest::ui {

CompareControl::CompareControl(EngineThread& engine, CompareView& view, QObject* parent)
    : QObject(parent), engine_(engine), view_(view)
{
    connect(&view, &CompareView::start_wanted, this, &CompareControl::start);
    connect(&view, &CompareView::stop_wanted, this, &CompareControl::stop);
    connect(&engine, &EngineThread::finished, this, [this](quint64 command) { end(command, {}); });
    connect(&engine, &EngineThread::failed, this,
            [this](quint64 command, const Failure& failure) { end(command, failure.sentence); });
}

void CompareControl::start(const CompareRequest& request)
{
    if (command_) return;
    // Each comparison has its own exchange, so that late states of an earlier comparison are ignored.
    exchange_ = std::shared_ptr<CompareExchange>(new CompareExchange, [](QObject* made) { made->deleteLater(); });
    connect(exchange_.get(), &CompareExchange::changed, this, [this, exchange = exchange_.get()] {
        if (exchange == exchange_.get()) view_.show_state(exchange->take());
    });
    view_.begin();
    command_ = engine_.run(tr("Comparing policies on %1").arg(request.what),
                           [request, exchange = exchange_](EngineThread::Tools& tools) {
                               compare(tools, request, [&](std::shared_ptr<const CompareState> state) {
                                   exchange->put(std::move(state));
                               });
                           });
}

void CompareControl::stop()
{
    if (command_) engine_.cancel(*command_);
}

void CompareControl::end(quint64 command, const QString& trouble)
{
    if (command != command_) return;
    command_.reset();
    view_.show_state(exchange_->take());
    view_.end(trouble);
}

} // namespace palimpsest::ui
