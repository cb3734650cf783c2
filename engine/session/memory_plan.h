// What a model and its sessions will take of memory, known before anything is computed: of a device's own before
// the model is loaded to it, of this machine's before a session is begun.
//
// On the CPU weights are mapped from their file: they take no memory for good, but what does not stay in memory is
// read again for every chunk and every token, which is slow. So only what is taken for good can be too much.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "engine/model/model.h"
#include "engine/session/session_options.h"
#include "kernels/counting_backend.h"

namespace palimpsest::engine {

struct MemoryPlan {
    uint64_t weights = 0;  // bytes, as all
    uint64_t sessions = 0; // caches and activations
    uint64_t scratch = 0;  // working memory, beyond what there is
    uint64_t total() const { return weights + sessions + scratch; }
};

// The model and its sessions are made as they will be, on a backend that only counts.
class MemoryPlanner {
public:
    // For a device. Throws Error as open_model does. The backend must outlive this.
    MemoryPlanner(const std::filesystem::path& model, const kernels::Backend& backend);
    // For a model that computes in this machine's memory, of which so much is available. The model must outlive
    // this.
    MemoryPlanner(const Model& model, uint64_t available);

    const ModelConfig& config() const { return model_->config(); }
    // For so many sessions at a time. Throws Error (Usage) as Session does.
    MemoryPlan plan(const SessionOptions& options, int sessions) const;

    // Throws Error (Resources, PAL-MEM-02), which names what would fit, if there is less.
    void require(const SessionOptions& options, int sessions) const;

    // The largest budget that fits, up to what the model was trained on; 0: none does.
    int32_t largest_budget(const SessionOptions& options, int sessions) const;
    // A sentence if what is mapped does not fit beside what is taken, or hardly.
    std::optional<std::string> warning(const SessionOptions& options, int sessions) const;
    uint64_t mapped() const { return mapped_; } // bytes of weights in files
    uint64_t usable() const { return usable_; }

private:
    bool fits(const SessionOptions& options, int sessions) const;
    std::string what_fits(const SessionOptions& options, int sessions) const;

    const kernels::Backend& backend_;
    bool is_device_ = false;
    std::shared_ptr<kernels::CountingBackend> counting_;
    std::shared_ptr<const Model> model_;
    uint64_t weights_ = 0;
    uint64_t mapped_ = 0;
    uint64_t usable_ = 0; // of the memory that is free
};

} // namespace palimpsest::engine
