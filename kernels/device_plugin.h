// The GPU backend as a file that is looked for at run time: one program with and without a GPU.
#pragma once

#include <memory>
#include <string>

#include "kernels/backend.h"
#include "kernels/cuda_plugin.h"

namespace palimpsest::kernels {

// Why there is no GPU backend, and what to do.
struct PluginProblem {
    std::string code; // PAL-GPU-01 where something is not there; empty: no problem
    std::string problem;
    std::string remedy;
};

// libpalimpsest-cuda.so of this version. Looked for in the folder that PALIMPSEST_PLUGINS names, or, where that is
// not set, beside the executable and in ../lib/palimpsest from there.
//
// Once opened it stays loaded until the process ends: backends, weights and errors of it may be held anywhere.
class DevicePlugin {
public:
    static DevicePlugin find();

    const std::string& file() const { return file_; } // empty: there is none
    const PluginProblem& problem() const { return problem_; }
    bool works() const { return open_ != nullptr; }

    // The backend of a device, or null and why not.
    std::unique_ptr<Backend> open(int device, PluginProblem& problem) const;
    // What the plugin finds on this machine; as it was where there is a problem.
    PluginProblem survey(CudaSurvey& survey) const;

private:
    DevicePlugin() = default;
    void load(const std::string& file);

    std::string file_;
    PluginProblem problem_;
    OpenCuda* open_ = nullptr;
    SurveyCuda* survey_ = nullptr;
};

} // namespace palimpsest::kernels
