// Finds and loads the GPU backend at run time, so that one program works with and without a GPU.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "kernels/backend.h"
#include "kernels/cuda_plugin.h"

namespace palimpsest::kernels {

// Why there is no GPU backend, and what to do about it.
struct PluginProblem {
    std::optional<ErrorCode> code; // GpuUnavailable if something is missing; none: no problem
    Text problem;
    Text remedy;
};

// The GPU plugin: libpalimpsest-cuda.so of this version, in the folder that PALIMPSEST_PLUGINS names or, if that is
// not set, beside the executable or in ../lib/palimpsest relative to it.
//
// Once opened, it stays loaded until the process ends, because its backends, weights and errors may be in use
// anywhere.
class DevicePlugin {
public:
    static DevicePlugin find();

    const std::string& file() const { return file_; } // empty: not found
    const PluginProblem& problem() const { return problem_; }
    bool works() const { return open_ != nullptr; }

    // The backend of a device; null, with the reason in `problem`, if it cannot be opened.
    std::unique_ptr<Backend> open(int device, PluginProblem& problem) const;
    // Fills `survey` with the GPUs and the driver that the plugin finds. If survey() returns a problem, `survey` is
    // empty.
    PluginProblem survey(CudaInfo& survey) const;

private:
    DevicePlugin() = default;
    void load(const std::string& file);

    std::string file_;
    PluginProblem problem_;
    OpenCuda* open_ = nullptr;
    SurveyCuda* survey_ = nullptr;
};

} // namespace palimpsest::kernels
