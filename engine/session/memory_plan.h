// The memory that a model and its sessions will need, computed in advance: device memory before the model is loaded
// to it, host memory before a session starts.
//
// On the CPU, weights are mapped from their file. They need not fit into memory, but pages that do not are read
// again for every chunk and every token, which is slow. So a session is refused for allocated memory only; mapped
// memory gives a warning.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "engine/model/model.h"
#include "engine/session/session_options.h"
#include "kernels/base/text.h"
#include "kernels/counting_backend.h"

namespace palimpsest::engine {

struct MemoryPlan {
    uint64_t weights = 0;  // bytes, like the others
    uint64_t sessions = 0; // caches and activations
    uint64_t scratch = 0;  // bound of the backend's working memory
    uint64_t total() const { return weights + sessions + scratch; }
};

// Builds the model and its sessions, as they will be, on a backend that only counts allocations.
class MemoryPlanner {
public:
    // Plans for a device. Throws Error as open_model does. The backend must outlive this.
    MemoryPlanner(const std::filesystem::path& model, const kernels::Backend& backend);
    // Plans for a model in host memory, of which `available` bytes are free. The model must outlive this.
    MemoryPlanner(const Model& model, uint64_t available);

    const ModelConfig& config() const { return model_->config(); }
    // The memory of `sessions` simultaneous sessions. Throws Error (Usage) as Session does.
    MemoryPlan plan(const SessionOptions& options, int sessions) const;

    // Throws Error (Resources, MemoryPlanDoesNotFit), which names settings that fit, if memory is too small.
    void require(const SessionOptions& options, int sessions) const;

    // The largest budget that fits, at most the model's context; 0: none.
    int32_t largest_budget(const SessionOptions& options, int sessions) const;
    // Returns a sentence if the mapped file does not fit beside the allocated memory, or barely fits.
    std::optional<Text> warning(const SessionOptions& options, int sessions) const;
    uint64_t mapped() const { return mapped_; } // bytes of weights that are mapped from files
    uint64_t usable() const { return usable_; }

private:
    bool fits(const SessionOptions& options, int sessions) const;
    // "set SETTING to VALUE", with the CPU as another way out of a full device.
    Text set_to(Setting setting, const std::string& value) const;
    Text what_fits(const SessionOptions& options, int sessions) const;

    const kernels::Backend& backend_;
    bool is_device_ = false;
    std::shared_ptr<kernels::CountingBackend> counting_;
    std::shared_ptr<const Model> model_;
    uint64_t weights_ = 0;
    uint64_t mapped_ = 0;
    uint64_t usable_ = 0; // bytes that may be allocated
};

} // namespace palimpsest::engine
