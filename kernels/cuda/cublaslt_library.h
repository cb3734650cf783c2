// NVIDIA's library of matrix products, looked for at run time: it has about half a gigabyte, so nothing links it.
#pragma once

#include <string>

namespace palimpsest::kernels::cuda {

struct CublasLtLibrary {
    void* handle = nullptr; // of dlopen; stays open
    std::string file;
    std::string problem; // why there is none
};

// Looked for once in a process, where the system finds libraries and where CUDA is installed.
const CublasLtLibrary& cublaslt_library();

} // namespace palimpsest::kernels::cuda
