// NVIDIA's cuBLASLt, opened at run time: the library takes about half a gigabyte, so nothing links it.
#pragma once

#include <span>
#include <string>

#include "kernels/base/text.h"

namespace palimpsest::kernels::cuda {

struct CublasLtLibrary {
    void* library = nullptr; // from dlopen, with all functions that products need; null: not found
    void* handle = nullptr;  // from cublasLtCreate
    std::string file;
    Text problem; // why there is none, or why the files tried before it failed
};

// The test a library must pass: load, or also create a handle on the current device.
enum class CublasLtTrial { Load, CreateHandle };

// Returns the first of these files that passes. Opened libraries stay open.
CublasLtLibrary open_cublaslt(std::span<const char* const> places, CublasLtTrial trial);

// The library for a device, searched for once per process in the system's library paths and where CUDA is
// installed. Makes the device current. Throws Error.
const CublasLtLibrary& cublaslt_on(int device);

// Disables cuBLASLt for this process, for compute-sanitizer's initcheck, which does not see its bulk stores.
// REQUIRES: cublaslt_on was not called yet.
void disable_cublaslt();

// Returns the first library in the same places that loads, for machines without a usable device.
CublasLtLibrary loadable_cublaslt();

} // namespace palimpsest::kernels::cuda
