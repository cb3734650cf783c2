// The session's side of a forward pass over a resident cache: it plans, the backend evicts, and records come out
// when the cache is settled.
#pragma once

#include "engine/session/session_step.h"

namespace palimpsest::engine {

class Session::ResidentStep final : public SessionStep {
public:
    explicit ResidentStep(Session& session);

    void plan_token() override;

    void attended(int32_t layer, int32_t chunk, int32_t rows, int32_t probe_rows,
                  const kernels::SignalRequest& shown) override;
    void evict(int32_t layer, int32_t chunk, int32_t rows, kernels::Phase phase) override;
    // None where somebody looks on: then layers go one by one.
    std::span<const EvictionPlan> plans() const override
    {
        return s_.observer_ ? std::span<const EvictionPlan>() : plans_;
    }
    void queue(int32_t layer, const kernels::SignalRequest& seen, const uint32_t* plan, uint32_t* dropped,
               int64_t stride) override;
    void queued(int32_t layer, int64_t stride) override;
    void end_reading() override;

private:
    struct Seen { // of one layer, until its eviction
        kernels::SignalRequest shown;
        int32_t rows = 0, probe_rows = 0;
    };

    void count(const EvictionPlan& plan);
    void settled(const SettledStep& step);
    void look_at(int32_t layer); // at lists with what was appended and accumulated

    Session& s_;
    std::vector<Seen> seen_;          // [layers]
    std::vector<EvictionPlan> plans_; // [layers] of the token to come
    EvictionPlan chunk_plan_;
    std::vector<uint32_t> sizes_; // scratch
    // For an observer: lists as it is shown them, of the step at hand.
    std::vector<TokenList> observed_;
    std::vector<ListState> shown_;
    int32_t observed_rows_ = 0;
    bool observing_ = false;
};

} // namespace palimpsest::engine
