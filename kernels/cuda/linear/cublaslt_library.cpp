#include "kernels/cuda/linear/cublaslt_library.h"

#include <cuda_runtime.h>
#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <map>
#include <mutex>
#include <vector>

#include "kernels/cuda/device/cuda_error.h"

namespace palimpsest::kernels::cuda {
namespace {

constexpr const char* usual_places[] = {"libcublasLt.so.13", "/usr/local/cuda/lib64/libcublasLt.so.13",
                                        "libcublasLt.so.12", "/usr/local/cuda/lib64/libcublasLt.so.12"};

std::atomic<bool> disabled = false;

constexpr const char* functions[] = {"cublasLtMatmulDescCreate",        "cublasLtMatmulDescDestroy",
                                     "cublasLtMatmulDescSetAttribute",  "cublasLtMatrixLayoutCreate",
                                     "cublasLtMatrixLayoutDestroy",     "cublasLtMatmulPreferenceCreate",
                                     "cublasLtMatmulPreferenceDestroy", "cublasLtMatmulPreferenceSetAttribute",
                                     "cublasLtMatmulAlgoGetHeuristic",  "cublasLtMatmulAlgoConfigGetAttribute",
                                     "cublasLtMatmulAlgoCheck",         "cublasLtMatmul"};

std::string file_of(void* library)
{
    const link_map* loaded = nullptr;
    return dlinfo(library, RTLD_DI_LINKMAP, &loaded) == 0 && loaded != nullptr ? loaded->l_name : "";
}

// Returns why an opened library cannot be used; empty if it can.
Text refusal(CublasLtLibrary& of, CublasLtTrial trial)
{
    using Create = int(void** handle);
    auto* const create = reinterpret_cast<Create*>(dlsym(of.library, "cublasLtCreate"));
    if (create == nullptr) return Text("it lacks {0}", "cublasLtCreate");
    for (const char* function : functions)
        if (dlsym(of.library, function) == nullptr) return Text("it lacks {0}", function);
    if (trial == CublasLtTrial::Load) return {};
    const int status = create(&of.handle);
    return status == 0 ? Text() : Text("it creates no handle (status {0})", status);
}

} // namespace

CublasLtLibrary open_cublaslt(std::span<const char* const> places, CublasLtTrial trial)
{
    CublasLtLibrary found;
    std::vector<Text> problems;
    std::string refused; // the last refused file; the next name may resolve to it, too
    for (const char* place : places) {
        found.library = dlopen(place, RTLD_LAZY | RTLD_LOCAL);
        if (found.library == nullptr) continue;
        found.file = file_of(found.library);
        if (found.file == refused) continue;
        const Text why = refusal(found, trial);
        if (why.empty()) {
            found.problem = joined(problems, "; ");
            return found;
        }
        refused = found.file;
        problems.push_back(Text("{0} is not used: {1}", found.file, why));
    }
    if (problems.empty()) problems.push_back(Text("no libcublasLt.so.13 or .12 was found"));
    return {nullptr, nullptr, "", Text("the program's own matrix products are used: {0}", joined(problems, "; "))};
}

void disable_cublaslt()
{
    disabled = true;
}

const CublasLtLibrary& cublaslt_on(int device)
{
    static std::mutex lock;
    static std::map<int, CublasLtLibrary> libraries;
    const std::scoped_lock held(lock);
    check(cudaSetDevice(device));
    auto found = libraries.find(device);
    if (found == libraries.end())
        found = libraries
                    .emplace(device, disabled ? CublasLtLibrary{}
                                              : open_cublaslt(usual_places, CublasLtTrial::CreateHandle))
                    .first;
    return found->second;
}

CublasLtLibrary loadable_cublaslt()
{
    return open_cublaslt(usual_places, CublasLtTrial::Load);
}

} // namespace palimpsest::kernels::cuda
