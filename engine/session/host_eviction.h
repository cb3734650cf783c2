// The session's side of a forward pass over a cache whose lists the host keeps: accumulates signals, asks the
// policy, evicts, and calls observers and sinks. Its buffers are reused from step to step.
#pragma once

#include "engine/model/forward/rope_angles.h"
#include "engine/model/forward/signals_on_host.h"
#include "engine/session/session.h"
#include "engine/session/session_eviction.h"

namespace palimpsest::engine {

class Session::HostEviction final : public SessionEviction {
public:
    explicit HostEviction(Session& session);

    void shown(std::span<const kernels::SignalRequest> seen) override;
    void attended(int32_t layer, int32_t chunk, int32_t rows, int32_t question_rows,
                  const kernels::SignalRequest& shown) override;
    void evict(int32_t layer, int32_t chunk, int32_t rows, kernels::Phase phase) override;
    void end_prefill() override;

private:
    struct Seen { // observation of one layer, until its eviction
        LayerObservation observation;
        std::vector<std::vector<float>> entropies; // [kv_heads][n]
    };

    // `shown`: signals in host memory.
    void accumulate(int32_t layer, int32_t head, int32_t rows, const kernels::SignalRequest& shown);
    void observe(int32_t layer, int32_t rows, int32_t question_rows, const kernels::SignalRequest& shown);
    double mean_row_statistic(int32_t rows, const kernels::SignalRequest& shown) const;
    void view_lists(int32_t layer);
    void merge(int32_t layer, kernels::Phase phase, std::span<const std::vector<Merge>> merges);
    void report(int32_t layer, uint64_t step, int32_t rows, std::span<const std::vector<Merge>> merges);

    Session& s_; // steps_seen_ is that of the super-chunk's first chunk
    LayerAngles angles_;
    std::vector<Seen> seen_; // [layers]
    SignalsOnHost on_host_;
    std::vector<float> head_sums_, head_squares_; // [group, n] of one list
    std::vector<ListState> lists_;                // of the current layer
    std::vector<const TokenList*> tokens_;
    std::vector<std::vector<uint32_t>> dropped_;
};

} // namespace palimpsest::engine
