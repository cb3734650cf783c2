#include "kernels/cuda/linear/cublaslt.h"

#include <cublasLt.h>
#include <dlfcn.h>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>

#include "kernels/base/error.h"
#include "kernels/cuda/linear/cublaslt_library.h"

namespace palimpsest::kernels::cuda {
namespace {

constexpr size_t workspace_bytes = size_t{32} << 20;

// The functions of the library, with their types.
struct Functions {
    decltype(&cublasLtMatmulDescCreate) desc_create;
    decltype(&cublasLtMatmulDescDestroy) desc_destroy;
    decltype(&cublasLtMatmulDescSetAttribute) desc_set;
    decltype(&cublasLtMatrixLayoutCreate) layout_create;
    decltype(&cublasLtMatrixLayoutDestroy) layout_destroy;
    decltype(&cublasLtMatmulPreferenceCreate) preference_create;
    decltype(&cublasLtMatmulPreferenceDestroy) preference_destroy;
    decltype(&cublasLtMatmulPreferenceSetAttribute) preference_set;
    decltype(&cublasLtMatmulAlgoGetHeuristic) heuristic;
    decltype(&cublasLtMatmulAlgoConfigGetAttribute) config_get;
    decltype(&cublasLtMatmulAlgoCheck) check;
    decltype(&cublasLtMatmul) matmul;
};

template<class Function>
void find(void* library, const char* name, Function& function)
{
    function = reinterpret_cast<Function>(dlsym(library, name));
}

Functions functions_of(void* library)
{
    Functions f{};
    find(library, "cublasLtMatmulDescCreate", f.desc_create);
    find(library, "cublasLtMatmulDescDestroy", f.desc_destroy);
    find(library, "cublasLtMatmulDescSetAttribute", f.desc_set);
    find(library, "cublasLtMatrixLayoutCreate", f.layout_create);
    find(library, "cublasLtMatrixLayoutDestroy", f.layout_destroy);
    find(library, "cublasLtMatmulPreferenceCreate", f.preference_create);
    find(library, "cublasLtMatmulPreferenceDestroy", f.preference_destroy);
    find(library, "cublasLtMatmulPreferenceSetAttribute", f.preference_set);
    find(library, "cublasLtMatmulAlgoGetHeuristic", f.heuristic);
    find(library, "cublasLtMatmulAlgoConfigGetAttribute", f.config_get);
    find(library, "cublasLtMatmulAlgoCheck", f.check);
    find(library, "cublasLtMatmul", f.matmul);
    return f;
}

void require(cublasStatus_t status)
{
    if (status != CUBLAS_STATUS_SUCCESS)
        throw Error(ErrorKind::Resources, ErrorCode::GpuRefused, Text::verbatim("cuBLASLt"),
                    Text("a matrix product failed with status {0}", static_cast<int>(status)),
                    Text("set {0} to {1}, and report this as a bug", Setting::Device, "cpu"));
}

// A descriptor of the library, destroyed by the library's function.
template<class Handle>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, cublasStatus_t (*)(Handle)>;

// Shape of a product. cuBLASLt's matrices are column-major, so it sees each of our row-major matrices transposed,
// and computes y^T = W x^T, [W.rows, x.rows].
struct Shape {
    cudaDataType_t type;
    int64_t outputs, width; // rows of W; elements of a row, padding included
    int64_t w_stride, x_stride, y_stride;
    auto operator<=>(const Shape&) const = default; // NOLINT(modernize-use-nullptr): no pointer here
};

Owned<cublasLtMatrixLayout_t> layout(const Functions& f, cudaDataType_t type, int64_t rows, int64_t cols,
                                     int64_t stride)
{
    cublasLtMatrixLayout_t made = nullptr;
    require(f.layout_create(&made, type, static_cast<uint64_t>(rows), static_cast<uint64_t>(cols), stride));
    return {made, f.layout_destroy};
}

struct Descriptions {
    Owned<cublasLtMatmulDesc_t> operation;
    Owned<cublasLtMatrixLayout_t> w, x, y;

    Descriptions(const Functions& f, const Shape& shape, int64_t rows)
        : operation(nullptr, f.desc_destroy), w(layout(f, shape.type, shape.width, shape.outputs, shape.w_stride)),
          x(layout(f, shape.type, shape.width, rows, shape.x_stride)),
          y(layout(f, CUDA_R_32F, shape.outputs, rows, shape.y_stride))
    {
        cublasLtMatmulDesc_t made = nullptr;
        require(f.desc_create(&made, CUBLAS_COMPUTE_32F, CUDA_R_32F));
        operation.reset(made);
        const cublasOperation_t transposed = CUBLAS_OP_T;
        require(f.desc_set(made, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed));
    }
};

Owned<cublasLtMatmulPreference_t> preference(const Functions& f)
{
    cublasLtMatmulPreference_t made = nullptr;
    require(f.preference_create(&made));
    Owned<cublasLtMatmulPreference_t> owned(made, f.preference_destroy);
    const auto set = [&](cublasLtMatmulPreferenceAttributes_t which, const auto& value) {
        require(f.preference_set(made, which, &value, sizeof value));
    };
    const uint32_t no_reduction = CUBLASLT_REDUCTION_SCHEME_NONE, alignment = 16;
    set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace_bytes);
    set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, no_reduction);
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment);
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment);
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment);
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment);
    return owned;
}

// The library on one device, and the algorithms chosen so far. Its handle is never destroyed: at process exit, the
// driver may already be unloaded.
class Library {
public:
    explicit Library(const CublasLtLibrary& opened)
        : f_(functions_of(opened.library)), handle_(static_cast<cublasLtHandle_t>(opened.handle))
    {
    }

    // Returns null if no algorithm supports every number of rows.
    const cublasLtMatmulAlgo_t* algorithm(const Shape& shape)
    {
        auto found = pinned_.find(shape);
        if (found == pinned_.end()) found = pinned_.emplace(shape, pin(shape)).first;
        return found->second ? &*found->second : nullptr;
    }

    void multiply(const Shape& shape, const cublasLtMatmulAlgo_t& algorithm, const Operand& a, const Operand& b,
                  float* y, bool accumulate, CudaContext& context) const
    {
        const Descriptions of(f_, shape, a.rows);
        const float one = 1.0f, beta = accumulate ? 1.0f : 0.0f;
        require(f_.matmul(handle_, of.operation.get(), &one, b.values, of.w.get(), a.values, of.x.get(), &beta, y,
                          of.y.get(), y, of.y.get(), &algorithm,
                          context.scratch<std::byte>(ScratchUse::Workspace, workspace_bytes), workspace_bytes,
                          context.stream()));
    }

private:
    std::optional<cublasLtMatmulAlgo_t> pin(const Shape& shape) const
    {
        constexpr int64_t usual_rows = 2048;
        constexpr int most = 16;
        const Descriptions of(f_, shape, usual_rows);
        cublasLtMatmulHeuristicResult_t results[most];
        int count = 0;
        const auto status = f_.heuristic(handle_, of.operation.get(), of.w.get(), of.x.get(), of.y.get(),
                                         of.y.get(), preference(f_).get(), most, results, &count);
        if (status != CUBLAS_STATUS_SUCCESS) return std::nullopt;
        for (int i = 0; i < count; ++i)
            if (results[i].state == CUBLAS_STATUS_SUCCESS && in_one_piece(results[i].algo) &&
                does_for_all_rows(shape, results[i].algo))
                return results[i].algo;
        return std::nullopt;
    }

    bool in_one_piece(const cublasLtMatmulAlgo_t& algorithm) const
    {
        int32_t pieces = 0;
        uint32_t reduction = CUBLASLT_REDUCTION_SCHEME_MASK;
        size_t written = 0;
        return f_.config_get(&algorithm, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, &pieces, sizeof pieces, &written) ==
                   CUBLAS_STATUS_SUCCESS &&
               f_.config_get(&algorithm, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, &reduction, sizeof reduction,
                             &written) == CUBLAS_STATUS_SUCCESS &&
               pieces <= 1 && pieces >= 0 && reduction == CUBLASLT_REDUCTION_SCHEME_NONE;
    }

    bool does_for_all_rows(const Shape& shape, const cublasLtMatmulAlgo_t& algorithm) const
    {
        for (const int64_t rows : {1, 2, 17, 100, 512, 2048, 4097, 16384}) {
            const Descriptions of(f_, shape, rows);
            cublasLtMatmulHeuristicResult_t result{};
            const auto status = f_.check(handle_, of.operation.get(), of.w.get(), of.x.get(), of.y.get(),
                                         of.y.get(), &algorithm, &result);
            if (status != CUBLAS_STATUS_SUCCESS || result.workspaceSize > workspace_bytes) return false;
        }
        return true;
    }

    Functions f_;
    cublasLtHandle_t handle_;
    std::map<Shape, std::optional<cublasLtMatmulAlgo_t>> pinned_;
};

// Returns the library of this device; null if there is none. REQUIRES: the lock is held.
Library* library_on(int device)
{
    static std::map<int, Library> libraries;
    const CublasLtLibrary& opened = cublaslt_on(device);
    if (opened.handle == nullptr) return nullptr;
    return &libraries.try_emplace(device, opened).first->second;
}

bool in_16_bytes(const float* y, int64_t stride)
{
    return reinterpret_cast<uintptr_t>(y) % 16 == 0 && stride % 4 == 0;
}

} // namespace

size_t library_workspace(const CudaContext& context)
{
    return cublaslt_on(context.device()).handle != nullptr ? workspace_bytes : 0;
}

bool multiply_by_library(const Operand& a, const Operand& b, const ProductRows& to, CudaContext& context)
{
    static std::mutex lock;
    if (!in_16_bytes(to.y, to.stride) || b.rows % 4 != 0) return false;
    const bool direct = a.scales == nullptr && b.scales == nullptr && to.bias == nullptr;
    const bool aside = !direct && to.accumulate;
    const Shape shape{.type = a.type == DType::BF16 ? CUDA_R_16BF : CUDA_R_16F,
                      .outputs = b.rows,
                      .width = operand_stride(b.cols),
                      .w_stride = b.stride,
                      .x_stride = a.stride,
                      .y_stride = aside ? b.rows : to.stride};
    const std::scoped_lock held(lock);
    Library* library = library_on(context.device());
    const cublasLtMatmulAlgo_t* algorithm = library != nullptr ? library->algorithm(shape) : nullptr;
    if (algorithm == nullptr) return false;
    float* y = to.y;
    if (aside) y = context.scratch<float>(ScratchUse::Partials, static_cast<size_t>(a.rows * b.rows));
    library->multiply(shape, *algorithm, a, b, y, direct && to.accumulate, context);
    if (!direct) finish(a, b, to, {y, shape.y_stride}, context);
    return true;
}

} // namespace palimpsest::kernels::cuda
