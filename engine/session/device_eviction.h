// The session's side of a forward pass over a device-resident cache: it plans evictions, the backend performs them,
// and observers and sinks are called at the sync.
#pragma once

#include "engine/session/session.h"
#include "engine/session/session_eviction.h"

namespace palimpsest::engine {

class Session::DeviceEviction final : public SessionEviction {
public:
    explicit DeviceEviction(Session& session);

    void plan_token() override;

    void attended(int32_t layer, int32_t chunk, int32_t rows, int32_t question_rows,
                  const kernels::SignalRequest& shown) override;
    void evict(int32_t layer, int32_t chunk, int32_t rows, kernels::Phase phase) override;
    // Empty if there is an observer: each layer is then evicted and synced on its own.
    std::span<const EvictionPlan> plans() const override
    {
        return s_.observer_ ? std::span<const EvictionPlan>() : plans_;
    }
    void queue(int32_t layer, const kernels::SignalRequest& seen, const uint32_t* plan, uint32_t* dropped,
               int64_t stride) override;
    void queued(int32_t layer, int64_t stride) override;
    void end_prefill() override;

private:
    struct Seen { // signals of one layer, until its eviction
        kernels::SignalRequest shown;
        int32_t rows = 0, question_rows = 0;
    };

    void count(const EvictionPlan& plan);
    void is_synced(const SyncedStep& step);
    void view_lists(int32_t layer); // fills shown_ with the lists, appended rows and statistics included

    Session& s_;
    std::vector<Seen> seen_;          // [layers]
    std::vector<EvictionPlan> plans_; // [layers] for the next generated token
    EvictionPlan chunk_plan_;
    std::vector<uint32_t> sizes_; // scratch
    // The current step's lists as shown to an observer.
    std::vector<TokenList> observed_;
    std::vector<ListState> shown_;
    int32_t observed_rows_ = 0;
    bool observing_ = false;
};

} // namespace palimpsest::engine
