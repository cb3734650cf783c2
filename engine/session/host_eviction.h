// A session's eviction step over lists that the host keeps: accumulates signals, asks the policy, evicts, and calls
// observer and sink. Its buffers are reused from step to step.
#pragma once

#include "engine/cache/host_lists.h"
#include "engine/model/forward/rope_angles.h"
#include "engine/model/forward/signals_on_host.h"
#include "engine/session/session.h"
#include "engine/session/session_eviction.h"

namespace palimpsest::engine {

class Session::HostEviction final : public SessionEviction {
public:
    HostEviction(Session& session, HostLists lists);

    TokenLists& lists() override { return lists_; }
    std::unique_ptr<SessionEviction> clone(Session& other) const override;
    void evict(std::span<const AttendedLayer> layers, int32_t chunk, kernels::Phase phase) override;

private:
    struct Seen { // what was observed of one layer, kept until it is evicted
        LayerObservation observation;
        std::vector<std::vector<float>> entropies; // [kv_heads][n]
    };

    void append(const AttendedLayer& attended);
    // `shown`: signals in host memory.
    void accumulate(int32_t layer, int32_t head, int32_t rows, const kernels::SignalRequest& shown);
    void observe(int32_t layer, int32_t rows, int32_t question_rows, const kernels::SignalRequest& shown);
    double mean_row_statistic(int32_t rows, const kernels::SignalRequest& shown) const;
    void view_lists(int32_t layer);
    void evict_layer(const AttendedLayer& attended, int32_t chunk, kernels::Phase phase);
    void merge(int32_t layer, kernels::Phase phase, std::span<const std::vector<Merge>> merges);
    void report(int32_t layer, uint64_t step, int32_t rows, std::span<const std::vector<Merge>> merges);

    Session& s_; // s_.steps_seen_ excludes all chunks of the current super-chunk
    HostLists lists_;
    LayerAngles angles_;
    std::vector<Seen> seen_; // [layers]
    SignalsOnHost on_host_;
    std::vector<float> head_sums_, head_squares_; // [group, n] of one list
    std::vector<ListState> states_;               // of the current layer
    std::vector<const TokenList*> tokens_;
    std::vector<std::vector<uint32_t>> dropped_;
};

} // namespace palimpsest::engine
