// NVIDIA's library of matrix products, looked for at run time: it has about half a gigabyte, so nothing links it.
#pragma once

#include <span>
#include <string>

namespace palimpsest::kernels::cuda {

struct CublasLtLibrary {
    void* library = nullptr; // of dlopen, with every function that products need; null: there is none
    void* handle = nullptr;  // of cublasLtCreate
    std::string file;
    std::string problem; // why there is none, or why those that come before it are not used
};

// Whether a library has to prove itself on the current device.
enum class CublasLtTrial { Load, CreateHandle };

// The first of these files that passes. What was opened stays open.
CublasLtLibrary open_cublaslt(std::span<const char* const> places, CublasLtTrial trial);

// The one for a device, asked once in a process: of those where the system finds libraries and where CUDA is
// installed. Makes the device current. Throws Error.
const CublasLtLibrary& cublaslt_on(int device);

// The first of them that loads, for machines without a device.
CublasLtLibrary loadable_cublaslt();

} // namespace palimpsest::kernels::cuda
