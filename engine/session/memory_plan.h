// What a session will take of a device's memory, known before anything is loaded (reliability.md, P12).
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

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
    // Throws Error as open_model does. The backend must outlive this.
    MemoryPlanner(const std::filesystem::path& model, const kernels::Backend& backend);

    const ModelConfig& config() const { return model_->config(); }
    // For so many sessions at a time. Throws Error (Usage) as Session does.
    MemoryPlan plan(const SessionOptions& options, int sessions) const;

    // Throws Error (Resources, PAL-MEM-02), which names what would fit, if the device has less.
    void require(const SessionOptions& options, int sessions) const;

private:
    bool fits(const SessionOptions& options, int sessions) const;
    std::string what_fits(const SessionOptions& options, int sessions) const;

    const kernels::Backend& backend_;
    std::shared_ptr<kernels::CountingBackend> counting_;
    std::shared_ptr<const Model> model_;
    uint64_t weights_ = 0;
    uint64_t usable_ = 0; // of the memory that is free
};

} // namespace palimpsest::engine
