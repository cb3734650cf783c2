// The backends that tests run on, with the error tolerated on each.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/backend.h"
#include "kernels/base/error.h"
#include "kernels/base/fixed_point_types.h"
#include "kernels/cpu/simd_target.h"
#include "tests/support/test_level.h"
#ifdef PALIMPSEST_EMULATED_CUDA
#include "tests/support/simt/emulated_cuda.h"
#endif

namespace palimpsest::kernels::test {

enum class Kind { Cpu, EmulatedCuda, Cuda };

class TestBackend {
public:
    explicit TestBackend(std::string simd) : kind_(Kind::Cpu), name_("cpu " + simd), simd_(std::move(simd)) {}
    TestBackend(Kind kind, std::string name, std::shared_ptr<Backend> backend)
        : kind_(kind), name_(std::move(name)), kept_(std::move(backend))
    {
    }

    Kind kind() const { return kind_; }
    const std::string& name() const { return name_; }
    // The emulator is slow, so its cases are few and small.
    bool emulated() const { return kind_ == Kind::EmulatedCuda; }
    // Index among the backends of its kind; the best SIMD target has 0.
    size_t number() const { return number_; }
    void set_number(size_t number) { number_ = number; }

    // REQUIRES: no backend of another SIMD target is open.
    std::shared_ptr<Backend> open(int threads = 2, bool exact_products = false) const
    {
        if (kept_) return kept_;
        return open_backend({.device = "cpu", .threads = threads, .simd = simd_, .exact_products = exact_products});
    }

    // Whether prefill products take 16-bit activations (kernels/cpu/fixed_point_gemm.h).
    bool in_fixed_point(DType weight, Phase phase, bool exact_products = false) const
    {
        if (kind_ != Kind::Cpu || phase != Phase::Prefill || exact_products) return false;
        if (!has_fixed_point_) has_fixed_point_ = !open(1)->exact_products();
        return *has_fixed_point_ && prefills_in_fixed_point(weight);
    }

    // Tolerated error of a matrix product, relative to the root mean square of the result. The target SCALAR has no
    // lanes, so one sum accumulates a few thousand terms. With 16-bit activations, the error of a sum of terms with
    // random signs has a standard deviation of 2e-5 of the sum's size; twelve times that is allowed, because rows
    // differ in size. Tensor cores have 16-bit operands (kernels/cuda/linear/gemm.h): each product has a relative
    // error of at most 2^-8 (BF16) or 2^-10 (F16), and a sum of terms with random signs a few times that.
    double product_error(DType weight, Phase phase, bool exact_products = false) const
    {
        if (in_fixed_point(weight, phase, exact_products)) return 0x1p-12;
        if (kind_ == Kind::Cpu) return simd_ == "SCALAR" ? 1.2e-5 : 4e-6;
        if (phase == Phase::Decode || weight == DType::F32) return 1.2e-5;
        return weight == DType::BF16 ? 0x1p-6 : 0x1p-8;
    }

    // Tolerated error of attention and its signals, relative to 1 + their magnitude. On a GPU, prefill with head
    // sizes 64 and 128 rounds queries, keys and weights to the pool's 16-bit type.
    double attention_error(DType pool, int32_t head_dim, bool decode) const
    {
        const bool tensor_cores = kind_ != Kind::Cpu && !decode && (head_dim == 64 || head_dim == 128);
        if (!tensor_cores || pool == DType::F32) return exact_attention;
        return pool == DType::F16 ? 4e-3 : 3e-2;
    }
    static constexpr double exact_attention = 2e-5;

private:
    Kind kind_;
    size_t number_ = 0;
    std::string name_, simd_;
    std::shared_ptr<Backend> kept_;
    mutable std::optional<bool> has_fixed_point_; // asked of the backend once
};

inline std::ostream& operator<<(std::ostream& out, const TestBackend& on)
{
    return out << on.name();
}

inline std::optional<TestBackend> real_cuda(bool must_be_there)
{
    try {
        std::shared_ptr<Backend> backend = open_backend({.device = "cuda", .threads = 1, .simd = ""});
        const std::string name = backend->name() + " " + backend->simd_target();
        return TestBackend(Kind::Cuda, name, std::move(backend));
    } catch (const Error&) {
        if (must_be_there) throw;
        return std::nullopt;
    }
}

// The CPU's SIMD targets, the emulated GPUs and a real one if there is one. PALIMPSEST_TEST_DEVICE restricts them
// to cpu, emulated or cuda. Throws Error if a GPU that was asked for by that variable cannot be opened.
inline std::vector<TestBackend> every_backend()
{
    const char* variable = std::getenv("PALIMPSEST_TEST_DEVICE");
    const std::string only = variable ? variable : "";
    const auto wanted = [&](const char* device) { return only.empty() || only == device; };
    std::vector<TestBackend> all;
    if (wanted("cpu"))
        for (const std::string& target : simd_targets())
            all.emplace_back(target);
#ifdef PALIMPSEST_EMULATED_CUDA
    if (wanted("emulated"))
        for (const int capability : {90, 75})
            all.emplace_back(Kind::EmulatedCuda, "emulated sm_" + std::to_string(capability),
                             tests::open_emulated_cuda(capability));
#endif
    if (wanted("cuda"))
        if (const auto cuda = real_cuda(only == "cuda")) all.push_back(*cuda);
    size_t numbers[3] = {};
    for (TestBackend& on : all)
        on.set_number(numbers[static_cast<size_t>(on.kind())]++);
    return all;
}

using tests::at_ci_level;

// Whether a backend runs the case with this index: every case, or one in `one_in` on an emulated GPU. At the CI
// level, an emulated GPU runs one case in four, and each SIMD target but the best one in six.
// The best target and a real GPU run every case at every level.
inline bool takes(const TestBackend& on, size_t index, size_t one_in = 1)
{
    if (on.emulated() && index % one_in != 0) return false;
    const bool best_target = on.kind() == Kind::Cpu && on.number() == 0;
    if (!at_ci_level() || on.kind() == Kind::Cuda || best_target) return true;
    // Knuth's multiplicative hash distributes cases of every kind over the backends, even if the kinds alternate.
    const auto turn = static_cast<uint32_t>(on.emulated() ? index / one_in : index);
    const size_t share = on.emulated() ? 4 : 6;
    return (((turn * 2654435769u) >> 16) + on.number()) % share == 0;
}

} // namespace palimpsest::kernels::test
