#include "kernels/cuda/cuda_survey.h"

#include <cuda_runtime.h>
#include <fstream>

namespace palimpsest::kernels::cuda {
namespace {

// 13020 becomes "13.2", 75 becomes "7.5".
std::string version_text(int version)
{
    return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}
std::string capability_text(int capability)
{
    return std::to_string(capability / 10) + "." + std::to_string(capability % 10);
}

std::string list_of(int devices)
{
    return devices == 1 ? "the only one is cuda:0" : "there are cuda:0 to cuda:" + std::to_string(devices - 1);
}

// Clears the error of a failed call, which the next launch would otherwise report.
bool succeeded(cudaError_t status)
{
    if (status != cudaSuccess) cudaGetLastError();
    return status == cudaSuccess;
}

int attribute(cudaDeviceAttr which, int device)
{
    int value = 0;
    return succeeded(cudaDeviceGetAttribute(&value, which, device)) ? value : 0;
}

int capability_of(int device)
{
    return 10 * attribute(cudaDevAttrComputeCapabilityMajor, device) +
           attribute(cudaDevAttrComputeCapabilityMinor, device);
}

std::string driver_release()
{
    std::string line;
    std::getline(std::ifstream("/sys/module/nvidia/version") >> std::ws, line);
    return line;
}

Refusal without_devices(cudaError_t status, const Driver& driver)
{
    if (driver.version == 0)
        return {"no NVIDIA driver is installed", "install NVIDIA's driver if there is such a card, or choose cpu"};
    if (driver.version / 1000 < driver.runtime_version / 1000)
        return {"the NVIDIA driver is too old: it runs CUDA up to " + version_text(driver.version) + " and " +
                    version_text(driver.runtime_version) + " is needed",
                "update NVIDIA's driver, or choose cpu"};
    if (status == cudaErrorNoDevice || status == cudaSuccess)
        return {"there is no NVIDIA graphics card that programs may use",
                "check that nvidia-smi shows one and that CUDA_VISIBLE_DEVICES does not hide it, or choose cpu"};
    return {std::string("the NVIDIA driver did not start (") + cudaGetErrorName(status) + ")",
            "check that nvidia-smi works, restart the machine after an update of the driver, or choose cpu"};
}

} // namespace

Driver find_driver()
{
    Driver driver;
    driver.release = driver_release();
    succeeded(cudaDriverGetVersion(&driver.version));
    succeeded(cudaRuntimeGetVersion(&driver.runtime_version));
    const cudaError_t status = cudaGetDeviceCount(&driver.devices);
    if (!succeeded(status)) driver.devices = 0;
    if (driver.devices == 0) driver.refusal = without_devices(status, driver);
    return driver;
}

std::optional<Refusal> refusal_of(int device, const Driver& driver)
{
    if (device < 0 || device >= driver.devices)
        return Refusal{"there is no such graphics card: " + list_of(driver.devices), "choose one of them, or cpu"};
    const int capability = capability_of(device);
    if (capability >= least_capability) return std::nullopt;
    return Refusal{"its compute capability is " + capability_text(capability) + " and " +
                       capability_text(least_capability) + " is needed",
                   "choose a newer card, or cpu"};
}

DeviceFacts facts_of(int device)
{
    DeviceFacts facts;
    cudaDeviceProp properties{};
    if (succeeded(cudaGetDeviceProperties(&properties, device))) {
        facts.name = properties.name;
        facts.memory_bytes = properties.totalGlobalMem;
    }
    facts.capability = capability_of(device);
    facts.multiprocessors = attribute(cudaDevAttrMultiProcessorCount, device);
    size_t total = 0;
    if (!succeeded(cudaSetDevice(device)) || !succeeded(cudaMemGetInfo(&facts.free_bytes, &total)))
        facts.free_bytes = 0;
    return facts;
}

} // namespace palimpsest::kernels::cuda
