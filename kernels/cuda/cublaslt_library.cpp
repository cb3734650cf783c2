#include "kernels/cuda/cublaslt_library.h"

#include <dlfcn.h>
#include <link.h>

namespace palimpsest::kernels::cuda {
namespace {

constexpr const char* places[] = {"libcublasLt.so.13", "/usr/local/cuda/lib64/libcublasLt.so.13",
                                  "libcublasLt.so.12", "/usr/local/cuda/lib64/libcublasLt.so.12"};

std::string file_of(void* handle)
{
    const link_map* loaded = nullptr;
    return dlinfo(handle, RTLD_DI_LINKMAP, &loaded) == 0 && loaded != nullptr ? loaded->l_name : "";
}

CublasLtLibrary find()
{
    for (const char* place : places)
        if (void* handle = dlopen(place, RTLD_LAZY | RTLD_LOCAL)) return {handle, file_of(handle), ""};
    return {nullptr, "", "no libcublasLt.so.13 or .12 was found; the program's own matrix products are used"};
}

} // namespace

const CublasLtLibrary& cublaslt_library()
{
    static const CublasLtLibrary library = find();
    return library;
}

} // namespace palimpsest::kernels::cuda
