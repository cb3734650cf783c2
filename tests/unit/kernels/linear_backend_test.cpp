// Opening a backend, its memory, and the choices it refuses.

#include <cstring>
#include <numeric>
#include <vector>

#include "kernels/backend.h"
#include "kernels/base/error.h"
#include "kernels/cpu/simd_target.h"
#include "tests/support/catch.h"

using namespace palimpsest;
using namespace palimpsest::kernels;

namespace {

Error refusal(const BackendChoice& choice)
{
    try {
        open_backend(choice);
    } catch (const Error& error) {
        return error;
    }
    FAIL("the backend opened");
    throw;
}

} // namespace

TEST_CASE("cpu, and auto with a SIMD target, open the CPU with the given number of threads", "[backend]")
{
    for (const BackendChoice& choice :
         {BackendChoice{.device = "cpu", .threads = 3, .simd = ""},
          BackendChoice{.device = "auto", .threads = 3, .simd = simd_targets().front()}}) {
        const auto backend = open_backend(choice);
        CHECK(backend->name() == "cpu");
        CHECK(backend->threads() == 3);
        CHECK(backend->simd_target() == simd_targets().front());
    }
    CHECK(open_backend()->threads() >= 1);
}

TEST_CASE("names of SIMD targets are case-insensitive, and unknown names are refused with a list", "[backend]")
{
    for (const auto& name : simd_targets()) {
        std::string lower = name;
        for (char& c : lower)
            c = static_cast<char>(std::tolower(c));
        CHECK(open_backend({.device = "cpu", .threads = 1, .simd = lower})->simd_target() == name);
    }
    const Error error = refusal({.device = "cpu", .threads = 1, .simd = "AVX9\n"});
    CHECK(error.kind() == ErrorKind::Usage);
    CHECK(error.subject().english() == "SIMD target 'AVX9\\x0a'");
    for (const auto& name : simd_targets())
        CHECK(error.remedy().english().find(name) != std::string::npos);
    CHECK(open_backend({.device = "cpu", .threads = 1, .simd = ""})->simd_target() == simd_targets().front());
}

TEST_CASE("backends that exist at the same time use the same SIMD target", "[backend]")
{
    if (simd_targets().size() < 2) return;
    const std::string last = simd_targets().back();
    {
        const auto first = open_backend({.device = "cpu", .threads = 1, .simd = last});
        CHECK(open_backend({.device = "cpu", .threads = 1, .simd = ""})->simd_target() == last);
        CHECK(open_backend({.device = "cpu", .threads = 1, .simd = last})->simd_target() == last);
        CHECK(refusal({.device = "cpu", .threads = 1, .simd = simd_targets().front()}).code() ==
              ErrorCode::UnavailableSimdTarget);
        CHECK(first->simd_target() == last);
    }
    CHECK(open_backend({.device = "cpu", .threads = 1, .simd = ""})->simd_target() == simd_targets().front());
}

TEST_CASE("devices and thread counts that do not exist are refused", "[backend]")
{
    CHECK(refusal({.device = "tpu", .threads = 1, .simd = ""}).kind() == ErrorKind::Usage);
    CHECK(refusal({.device = "cuda:999", .threads = 1, .simd = ""}).code() == ErrorCode::GpuUnavailable);
    CHECK(refusal({.device = "cpu", .threads = -1, .simd = ""}).kind() == ErrorKind::Usage);
    CHECK(refusal({.device = "cpu", .threads = 100000, .simd = ""}).kind() == ErrorKind::Usage);
}

TEST_CASE("backend memory is zeroed and aligned, and can be copied in both directions", "[backend]")
{
    const auto backend = open_backend({.device = "cpu", .threads = 1, .simd = ""});
    Buffer buffer(*backend, 1000 * sizeof(int));
    CHECK(buffer.bytes() == 4000);
    CHECK(reinterpret_cast<uintptr_t>(buffer.data()) % 64 == 0);
    CHECK(std::accumulate(buffer.data<int>(), buffer.data<int>() + 1000, 0) == 0);

    std::vector<int> out(1000), in(1000);
    std::iota(out.begin(), out.end(), 7);
    backend->upload(buffer.data(), out.data(), 4000);
    backend->copy(buffer.data<int>() + 1, buffer.data<int>(), 3996);
    backend->download(in.data(), buffer.data(), 4000);
    CHECK(in[0] == 7);
    CHECK(in[1] == 7);
    CHECK(in[999] == 1005);

    CHECK(Buffer(*backend, 0).data() == nullptr);
    // Larger than any address space: the allocation itself must be refused.
    CHECK_THROWS_AS(Buffer(*backend, size_t{1} << 60), Error);
}
