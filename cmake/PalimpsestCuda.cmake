# Looks for nvcc if the CUDA plugin is to be built, and sets PALIMPSEST_BUILD_CUDA. A build without the plugin is
# complete: the program looks for the plugin at run time.

set(PALIMPSEST_BUILD_CUDA OFF)
if(PALIMPSEST_CUDA STREQUAL "AUTO" AND (PALIMPSEST_SANITIZE OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU"))
    return()
endif()
if(NOT PALIMPSEST_CUDA)
    return()
endif()

find_program(PALIMPSEST_NVCC nvcc HINTS ENV CUDA_PATH /usr/local/cuda PATH_SUFFIXES bin)
if(NOT PALIMPSEST_NVCC)
    if(NOT PALIMPSEST_CUDA STREQUAL "AUTO")
        message(FATAL_ERROR "PALIMPSEST_CUDA is ${PALIMPSEST_CUDA} but there is no nvcc: install CUDA or add it to PATH")
    endif()
    return()
endif()

set(CMAKE_CUDA_COMPILER ${PALIMPSEST_NVCC})
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    set(CMAKE_CUDA_HOST_COMPILER ${CMAKE_CXX_COMPILER})
endif()
set(CMAKE_CUDA_ARCHITECTURES OFF) # set below, with PTX for the newest only
enable_language(CUDA)
if(PALIMPSEST_LAUNCHER)
    set(CMAKE_CUDA_COMPILER_LAUNCHER ${PALIMPSEST_LAUNCHER})
endif()
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION) # CMake 3.25 does not know C++20 for nvcc
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
endif()
if(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 12)
    if(NOT PALIMPSEST_CUDA STREQUAL "AUTO")
        message(FATAL_ERROR "the CUDA plugin needs nvcc 12 or newer, ${PALIMPSEST_NVCC} is ${CMAKE_CUDA_COMPILER_VERSION}")
    endif()
    message(WARNING "the CUDA plugin needs nvcc 12 or newer, ${PALIMPSEST_NVCC} is ${CMAKE_CUDA_COMPILER_VERSION}: it is not built")
    return()
endif()
set(PALIMPSEST_BUILD_CUDA ON)
include(PalimpsestCards)

# The equivalent of palimpsest-flags for CUDA. -Wpedantic and -Wold-style-cast are missing, because code that nvcc
# generates triggers them.
add_library(palimpsest-cuda-flags INTERFACE)
function(palimpsest_cuda_options)
    target_compile_options(palimpsest-cuda-flags INTERFACE "$<$<COMPILE_LANGUAGE:CUDA>:${ARGV}>")
endfunction()

palimpsest_cuda_architectures(architectures)
foreach(architecture ${architectures})
    palimpsest_cuda_options(--generate-code=arch=compute_${architecture},code=sm_${architecture})
    set(newest ${architecture})
endforeach()
palimpsest_cuda_options(--generate-code=arch=compute_${newest},code=compute_${newest}
    --expt-relaxed-constexpr --Werror=all-warnings
    # A product and a sum are fused only where fmaf says so: the compiler's own choice differs between kernels that must
    # give the same bits.
    --fmad=false
    -Xcompiler=-Wall,-Wextra,-Wshadow,-Wnon-virtual-dtor,-Woverloaded-virtual,-Werror,-ffp-contract=off
    -Xcompiler=-fstack-protector-strong)
