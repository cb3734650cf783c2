#include "engine/session/memory_plan.h"
#include "engine/session/session_setup.h"
#include "kernels/base/error.h"
#include "ui/base/quantity.h"
#include "ui/compare/compare_run.h"

namespace palimpsest::ui {
namespace {

// Bytes of two retained-token maps: the newest, and the one before, which a view may still show.
uint64_t bytes_of_maps(const engine::Model& model, const engine::SessionOptions& options)
{
    const auto setup = engine::set_up(options, model.config(), model.backend().at_once());
    return 2 * sizeof(uint32_t) * static_cast<uint64_t>(setup.policy->total_budget());
}

} // namespace

uint64_t memory_of(const engine::Model& model, const std::vector<Contender>& contenders)
{
    const engine::MemoryPlanner planner(model.files().path, model.backend());
    uint64_t sessions = 0, scratch = 0;
    for (const Contender& contender : contenders) {
        const engine::MemoryPlan plan = planner.plan(contender.options, 1);
        sessions += plan.sessions + bytes_of_maps(model, contender.options);
        scratch = std::max(scratch, plan.scratch); // shared, because the sessions compute in turn
    }
    return sessions + scratch;
}

void require_memory(uint64_t needed, uint64_t left, size_t contenders)
{
    if (needed <= left) return;
    throw Error(ErrorKind::Resources, ErrorCode::MemoryPlanDoesNotFit, Text("comparison"),
                Text("reading with {0} policies at once needs {1} and {2} can be used", contenders,
                     bytes_text(needed).toStdString(), bytes_text(left).toStdString()),
                Text("compare fewer of them, or give smaller budgets"));
}

} // namespace palimpsest::ui
