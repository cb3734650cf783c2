// A session's eviction step over a device-resident cache: the policy plans evictions, the backend performs them,
// and observer and sink are called when they are synced.
#pragma once

#include <optional>

#include "engine/cache/device_lists.h"
#include "engine/session/session.h"
#include "engine/session/session_eviction.h"

namespace palimpsest::engine {

class Session::DeviceEviction final : public SessionEviction {
public:
    DeviceEviction(Session& session, DeviceLists lists);
    DeviceEviction(const DeviceEviction&) = delete;
    DeviceEviction& operator=(const DeviceEviction&) = delete;

    TokenLists& lists() override { return lists_; }
    std::unique_ptr<SessionEviction> clone(Session& other) const override;
    void plan_token() override;

    void evict(std::span<const AttendedLayer> layers, int32_t chunk, kernels::Phase phase) override;
    // Empty if there is an observer: each layer is then evicted and synced on its own.
    std::span<const EvictionPlan> plans() const override
    {
        return s_.observer_ ? std::span<const EvictionPlan>() : plans_;
    }
    void queue(int32_t layer, const kernels::SignalRequest& seen, const uint32_t* plan, uint32_t* dropped,
               int64_t stride) override;
    void queued(int32_t layer, uint32_t index, int64_t stride) override;
    void set_dropped_ranks(std::span<const uint32_t> dropped) override { lists_.set_dropped_ranks(dropped); }

private:
    void evict_layer(const AttendedLayer& attended, int32_t chunk, kernels::Phase phase);
    void count(const EvictionPlan& plan);
    void is_synced(const SyncedStep& step);
    void view_lists(int32_t layer); // fills shown_ with the lists, appended rows and statistics included

    Session& s_;
    DeviceLists lists_;
    std::vector<EvictionPlan> plans_; // [layers] for the next generated token
    EvictionPlan chunk_plan_;
    std::vector<uint32_t> sizes_; // scratch
    // The current step's lists as shown to an observer.
    std::vector<TokenList> copies_;
    std::vector<ListState> shown_;
    std::optional<AttendedLayer> observed_; // set while a layer is evicted and synced for the observer
};

} // namespace palimpsest::engine
