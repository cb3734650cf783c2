#include "tests/bench/gpu_ceilings.h"

#include <dlfcn.h>

#include <random>
#include <vector>

#include "kernels/base/dtype.h"
#include "kernels/cuda/device/cuda_error.h"
#include "kernels/cuda/device/device_memory.h"
#include "kernels/cuda/linear/cublaslt_library.h"

#if defined(CUDART_VERSION) && __has_include(<cublasLt.h>)
#include <cublasLt.h>
#endif

namespace palimpsest::bench {
namespace {

using kernels::cuda::check;

class DeviceBytes {
public:
    explicit DeviceBytes(size_t bytes) : data_(kernels::cuda::allocate_device(bytes)) {}
    ~DeviceBytes() { kernels::cuda::free_device(data_); }
    DeviceBytes(const DeviceBytes&) = delete;
    DeviceBytes& operator=(const DeviceBytes&) = delete;
    std::byte* data() const { return static_cast<std::byte*>(data_); }

private:
    void* data_;
};

// Fills memory with normal bf16 values from a repeated pool.
void fill_random(std::byte* device, size_t bytes, cudaStream_t stream)
{
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    std::vector<uint16_t> pool((size_t{4} << 20) - 2); // not a multiple of common row lengths, so that rows differ
    for (uint16_t& x : pool)
        x = kernels::f32_to_bf16(normal(random));
    const size_t pool_bytes = pool.size() * sizeof(uint16_t);
    for (size_t at = 0; at < bytes; at += pool_bytes)
        check(cudaMemcpyAsync(device + at, pool.data(), std::min(pool_bytes, bytes - at), cudaMemcpyHostToDevice,
                              stream));
    check(cudaStreamSynchronize(stream));
}

} // namespace

double copy_bandwidth(kernels::cuda::CudaContext& context, GpuTimer& timer)
{
    constexpr size_t bytes = size_t{2} << 30;
    const DeviceBytes from(bytes), to(bytes);
    fill_random(from.data(), bytes, context.stream());
    const auto copy = [&](int) {
        check(cudaMemcpyAsync(to.data(), from.data(), bytes, cudaMemcpyDeviceToDevice, context.stream()));
    };
    return 2.0 * static_cast<double>(bytes) / timer.measure(copy, 1, false).seconds;
}

#if defined(CUDART_VERSION) && __has_include(<cublasLt.h>)
namespace {

// Functions of the library, looked up by name.
struct CublasLt {
    explicit CublasLt(void* library)
        : create(find<decltype(&cublasLtCreate)>(library, "cublasLtCreate")),
          destroy(find<decltype(&cublasLtDestroy)>(library, "cublasLtDestroy")),
          make_matmul(find<decltype(&cublasLtMatmulDescCreate)>(library, "cublasLtMatmulDescCreate")),
          end_matmul(find<decltype(&cublasLtMatmulDescDestroy)>(library, "cublasLtMatmulDescDestroy")),
          set_matmul(find<decltype(&cublasLtMatmulDescSetAttribute)>(library, "cublasLtMatmulDescSetAttribute")),
          make_layout(find<decltype(&cublasLtMatrixLayoutCreate)>(library, "cublasLtMatrixLayoutCreate")),
          end_layout(find<decltype(&cublasLtMatrixLayoutDestroy)>(library, "cublasLtMatrixLayoutDestroy")),
          make_preference(
              find<decltype(&cublasLtMatmulPreferenceCreate)>(library, "cublasLtMatmulPreferenceCreate")),
          end_preference(
              find<decltype(&cublasLtMatmulPreferenceDestroy)>(library, "cublasLtMatmulPreferenceDestroy")),
          set_preference(find<decltype(&cublasLtMatmulPreferenceSetAttribute)>(
              library, "cublasLtMatmulPreferenceSetAttribute")),
          heuristic(find<decltype(&cublasLtMatmulAlgoGetHeuristic)>(library, "cublasLtMatmulAlgoGetHeuristic")),
          matmul(find<decltype(&cublasLtMatmul)>(library, "cublasLtMatmul"))
    {
    }
    bool whole() const
    {
        return create && destroy && make_matmul && end_matmul && set_matmul && make_layout && end_layout &&
               make_preference && end_preference && set_preference && heuristic && matmul;
    }

    template<class Function>
    static Function find(void* library, const char* name)
    {
        return reinterpret_cast<Function>(dlsym(library, name));
    }

    decltype(&cublasLtCreate) create;
    decltype(&cublasLtDestroy) destroy;
    decltype(&cublasLtMatmulDescCreate) make_matmul;
    decltype(&cublasLtMatmulDescDestroy) end_matmul;
    decltype(&cublasLtMatmulDescSetAttribute) set_matmul;
    decltype(&cublasLtMatrixLayoutCreate) make_layout;
    decltype(&cublasLtMatrixLayoutDestroy) end_layout;
    decltype(&cublasLtMatmulPreferenceCreate) make_preference;
    decltype(&cublasLtMatmulPreferenceDestroy) end_preference;
    decltype(&cublasLtMatmulPreferenceSetAttribute) set_preference;
    decltype(&cublasLtMatmulAlgoGetHeuristic) heuristic;
    decltype(&cublasLtMatmul) matmul;
};

constexpr int64_t side = 8192;
constexpr size_t workspace_bytes = size_t{32} << 20;

// A matrix product that can be run repeatedly. Its cuBLASLt objects are never destroyed.
class Product {
public:
    Product(const CublasLt& blas, std::string& why)
        : blas_(blas), a_(side * side * 2), b_(side * side * 2), c_(side * side * 2), workspace_(workspace_bytes)
    {
        const cublasOperation_t transposed = CUBLAS_OP_T; // weights are stored as rows, as in a model
        size_t workspace = workspace_bytes;
        int found = 0;
        works_ = good(blas.create(&handle_)) && good(blas.make_matmul(&matmul_, CUBLAS_COMPUTE_32F, CUDA_R_32F)) &&
                 good(blas.set_matmul(matmul_, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed)) &&
                 good(blas.make_layout(&layout_, CUDA_R_16BF, side, side, side)) &&
                 good(blas.make_preference(&preference_)) &&
                 good(blas.set_preference(preference_, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace,
                                          sizeof workspace)) &&
                 good(blas.heuristic(handle_, matmul_, layout_, layout_, layout_, layout_, preference_, 1, &chosen_,
                                     &found)) &&
                 found > 0;
        if (!works_) why = "cublasLt refused, status " + std::to_string(status_);
    }
    bool works() const { return works_; }
    bool make(cudaStream_t stream)
    {
        const float one = 1, zero = 0;
        return good(blas_.matmul(handle_, matmul_, &one, a_.data(), layout_, b_.data(), layout_, &zero, c_.data(),
                                 layout_, c_.data(), layout_, &chosen_.algo, workspace_.data(), workspace_bytes,
                                 stream));
    }
    void fill(cudaStream_t stream)
    {
        fill_random(a_.data(), side * side * 2, stream);
        fill_random(b_.data(), side * side * 2, stream);
    }

private:
    bool good(cublasStatus_t status)
    {
        status_ = static_cast<int>(status);
        return status == CUBLAS_STATUS_SUCCESS;
    }

    const CublasLt& blas_;
    DeviceBytes a_, b_, c_, workspace_;
    cublasLtHandle_t handle_ = nullptr;
    cublasLtMatmulDesc_t matmul_ = nullptr;
    cublasLtMatrixLayout_t layout_ = nullptr;
    cublasLtMatmulPreference_t preference_ = nullptr;
    cublasLtMatmulHeuristicResult_t chosen_{};
    int status_ = 0;
    bool works_ = false;
};

} // namespace

std::optional<double> bf16_product_rate(kernels::cuda::CudaContext& context, GpuTimer& timer, std::string& why)
{
    const kernels::cuda::CublasLtLibrary& library = kernels::cuda::cublaslt_on(context.device());
    why = library.problem.english();
    if (!library.handle) return std::nullopt;
    const CublasLt blas(library.library);
    if (!blas.whole()) return why = library.file + " lacks a function", std::nullopt;
    Product product(blas, why);
    if (!product.works()) return std::nullopt;
    product.fill(context.stream());
    bool made = true;
    const GpuSample sample = timer.measure([&](int) { made = product.make(context.stream()) && made; }, 1, false);
    if (!made) return why = "cublasLt refused the product", std::nullopt;
    return 2.0 * side * side * side / sample.seconds;
}
#else
std::optional<double> bf16_product_rate(kernels::cuda::CudaContext&, GpuTimer&, std::string& why)
{
    why = "built without cublasLt.h";
    return std::nullopt;
}
#endif

} // namespace palimpsest::bench
