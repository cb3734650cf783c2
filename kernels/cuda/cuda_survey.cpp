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

Text no_such_device(int devices)
{
    if (devices == 1) return Text("there is no such graphics card: the only one is {0}", "cuda:0");
    return Text("there is no such graphics card: there are {0} to {1}", "cuda:0",
                "cuda:" + std::to_string(devices - 1));
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
        return {Text("no NVIDIA driver is installed"),
                Text("install NVIDIA's driver if there is such a card, or set {0} to {1}", Setting::Device, "cpu")};
    if (driver.version / 1000 < driver.runtime_version / 1000)
        return {Text("the NVIDIA driver is too old: it runs CUDA up to {0} and {1} is needed",
                     version_text(driver.version), version_text(driver.runtime_version)),
                Text("update NVIDIA's driver, or set {0} to {1}", Setting::Device, "cpu")};
    if (status == cudaErrorNoDevice || status == cudaSuccess)
        return {
            Text("there is no NVIDIA graphics card that programs may use"),
            Text("check that nvidia-smi shows one and that CUDA_VISIBLE_DEVICES does not hide it, or set {0} to "
                 "{1}",
                 Setting::Device, "cpu")};
    return {Text("the NVIDIA driver did not start ({0})", cudaGetErrorName(status)),
            Text("check that nvidia-smi works, restart the machine after an update of the driver, or set {0} to "
                 "{1}",
                 Setting::Device, "cpu")};
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
        return Refusal{no_such_device(driver.devices),
                       Text("choose one of them, or set {0} to {1}", Setting::Device, "cpu")};
    const int capability = capability_of(device);
    if (capability >= least_capability) return std::nullopt;
    return Refusal{Text("its compute capability is {0} and {1} is needed", capability_text(capability),
                        capability_text(least_capability)),
                   Text("choose a newer card, or set {0} to {1}", Setting::Device, "cpu")};
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
