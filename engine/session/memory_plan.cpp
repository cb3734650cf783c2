#include "engine/session/memory_plan.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <optional>
#include <set>

#include "engine/cache/device_lists.h"
#include "engine/model/files/mapped_file.h"
#include "engine/session/session.h"
#include "kernels/base/error.h"

namespace palimpsest::engine {
namespace {

std::string size_text(uint64_t bytes)
{
    constexpr double mib = 1 << 20, gib = 1 << 30;
    const auto size = static_cast<double>(bytes);
    char text[32];
    std::snprintf(text, sizeof text, size < gib ? "%.1f MiB" : "%.1f GiB", size / (size < gib ? mib : gib));
    return text;
}

// Leaves room for the kernels that the driver loads when they are first used.
uint64_t usable(uint64_t free)
{
    return free - free / 32;
}

} // namespace

MemoryPlanner::MemoryPlanner(const std::filesystem::path& model, const kernels::Backend& backend)
    : backend_(backend), counting_(std::make_shared<kernels::CountingBackend>(backend)),
      model_(Model::load_weights(model, counting_)), weights_(counting_->loaded_bytes() + counting_->buffer_bytes())
{
    const auto memory = backend.memory();
    is_device_ = memory.has_value();
    usable_ = memory ? engine::usable(memory->free) : UINT64_MAX;
}

MemoryPlanner::MemoryPlanner(const Model& model, uint64_t available)
    : backend_(model.backend()), counting_(std::make_shared<kernels::CountingBackend>(backend_)),
      model_(Model::with_weights_of(model, counting_)),
      weights_(counting_->loaded_bytes() + counting_->buffer_bytes()), usable_(available)
{
    // A mapping without a file is a copy in memory, and counts as allocated.
    for (const auto& file : model.files().mappings)
        (file->is_file() ? mapped_ : weights_) += file->bytes().size();
}

MemoryPlan MemoryPlanner::plan(const SessionOptions& options, int sessions) const
{
    const SessionSetup setup = set_up(options, model_->config(), backend_.at_once());
    const int32_t question_room = setup.options.question_room;
    const CacheShape cache = cache_shape(*model_, setup.options, *setup.policy, question_room);
    const TransformerShape transformer =
        transformer_shape(model_->config(), cache, setup.options, *setup.policy, question_room);
    const uint64_t before = counting_->buffer_bytes();
    const KvCache counted_cache(cache, *counting_);
    std::optional<DeviceLists> counted_lists; // lists on the host are not in the backend's memory
    if (cache.resident)
        counted_lists.emplace(cache, *counting_)
            .pin(setup.options.pins, layers_with_pins(*setup.policy, cache.layers));
    const Transformer counted_transformer(*model_, transformer);
    const uint64_t session = counting_->buffer_bytes() - before;
    const uint64_t scratch = backend_.scratch_bound(work_bounds(*model_, cache, transformer, model_->matrices()));
    return {.weights = weights_, .sessions = session * static_cast<uint64_t>(sessions), .scratch = scratch};
}

bool MemoryPlanner::fits(const SessionOptions& options, int sessions) const
try {
    return plan(options, sessions).total() <= usable_;
} catch (const Error&) {
    return false; // not possible at all
}

Text MemoryPlanner::set_to(Setting setting, const std::string& value) const
{
    if (!is_device_) return Text("set {0} to {1}", setting, value);
    return Text("set {0} to {1}, or set {2} to {3}", setting, value, Setting::Device, "cpu");
}

Text MemoryPlanner::what_fits(const SessionOptions& options, int sessions) const
{
    SessionOptions smaller = options;
    const auto fits_with = [&](int32_t budget) {
        smaller.budget = budget;
        return fits(smaller, sessions);
    };
    const int32_t given = set_up(options, model_->config(), backend_.at_once()).options.budget;
    int32_t good = 0, bad = std::min(given, model_->config().context);
    for (int32_t budget = bad / 2; budget > 0 && good == 0; budget /= 2) // halves the budget until it fits
        (fits_with(budget) ? good : bad) = budget;
    while (good > 0 && bad - good > std::max(1, good / 64)) {
        const int32_t middle = good + (bad - good) / 2;
        (fits_with(middle) ? good : bad) = middle;
    }
    if (good > 0)
        return is_device_ ? Text("set {0} to {1} or less, or set {2} to {3}", Setting::Budget, good,
                                 Setting::Device, "cpu")
                          : Text("set {0} to {1} or less", Setting::Budget, good);
    smaller = options;
    for (smaller.chunk = options.chunk / 2; smaller.chunk > 0; smaller.chunk /= 2)
        if (fits(smaller, sessions)) return set_to(Setting::Chunk, std::to_string(smaller.chunk));
    smaller = options;
    smaller.kv_type = kernels::DType::F16;
    if (fits(smaller, sessions)) return set_to(Setting::KvType, "f16");
    return is_device_ ? Text("choose a smaller model, or set {0} to {1}", Setting::Device, "cpu")
                      : Text("close other programs or choose a smaller model");
}

void MemoryPlanner::require(const SessionOptions& options, int sessions) const
{
    const MemoryPlan needed = plan(options, sessions);
    if (needed.total() <= usable_) return;
    if (!is_device_)
        throw Error(ErrorKind::Resources, ErrorCode::MemoryPlanDoesNotFit, Text("memory"),
                    Text("this needs {0} beside the model's file, and {1} are available", size_text(needed.total()),
                         size_text(usable_)),
                    what_fits(options, sessions));
    throw Error(ErrorKind::Resources, ErrorCode::MemoryPlanDoesNotFit, Text::verbatim(backend_.name()),
                Text("this needs {0} of its memory, the model {1} of them, and {2} can be used",
                     size_text(needed.total()), size_text(needed.weights), size_text(usable_)),
                what_fits(options, sessions));
}

namespace {

// The most tokens that fit the pages of a list of `tokens`, with one row left for the next token.
int32_t full_pages(int32_t tokens)
{
    constexpr int32_t rows = kernels::page_rows;
    return (tokens + rows) / rows * rows - 1;
}

} // namespace

// A session's memory is linear in its budget between one attention window of its layers and the next larger one. So
// two plans in each of these ranges determine all others.
int32_t MemoryPlanner::largest_budget(const SessionOptions& options, int sessions) const
{
    SessionOptions tried = options;
    tried.chunk = std::min(options.chunk, model_->config().context / 2);
    const int32_t most = model_->config().context - tried.chunk;
    const auto total = [&](int32_t budget) {
        tried.budget = budget;
        try {
            return static_cast<double>(plan(tried, sessions).total());
        } catch (const Error&) {
            return HUGE_VAL; // too small for the policy's parameters
        }
    };
    std::set<int32_t, std::greater<>> begins = {0}; // budgets at which the ranges begin, descending
    for (int32_t l = 0; l < model_->config().layers; ++l)
        if (const int32_t window = model_->config().plan(l).window; window < most) begins.insert(window);
    int32_t end = most;
    for (const int32_t begin : begins) {
        const int32_t small = full_pages(begin + (end - begin) / 4), large = full_pages(begin + (end - begin) / 2);
        const double at_small = small > begin ? total(small) : HUGE_VAL;
        const double at_large = large > small && large <= end ? total(large) : HUGE_VAL;
        if (std::isfinite(at_small) && std::isfinite(at_large)) {
            const double each = (at_large - at_small) / (large - small);
            const double room = static_cast<double>(usable_) - at_large;
            const double budget = each > 0 ? large + room / each : room >= 0 ? end : 0;
            if (budget > begin) return static_cast<int32_t>(std::min<double>(budget, end));
        } else if (total(end) <= static_cast<double>(usable_)) {
            return end;
        } else if (at_large <= static_cast<double>(usable_)) {
            return large;
        }
        end = begin;
    }
    return 0;
}

std::optional<Text> MemoryPlanner::warning(const SessionOptions& options, int sessions) const
{
    const uint64_t taken = plan(options, sessions).total();
    const std::string all = size_text(taken + mapped_), file = size_text(mapped_), available = size_text(usable_);
    if (taken + mapped_ > usable_)
        return Text(
            "this needs {0} ({1} of them the model's file), and {2} are available: parts of the file will be "
            "read again and again, which is slow",
            all, file, available);
    if (taken + mapped_ > usable_ - usable_ / 8)
        return Text(
            "this needs {0} ({1} of them the model's file), and {2} are available: little is left for other "
            "programs",
            all, file, available);
    return std::nullopt;
}

} // namespace palimpsest::engine
