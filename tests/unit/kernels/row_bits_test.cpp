// Products as large as those of a real model: the bits of a row must depend on that row alone, whichever tiles or
// library compute it, and however many rows are computed together. Emulated GPUs use the smallest sizes that launch
// the same kernels.

#include <algorithm>
#include <utility>

#include "kernels/backends/device_plugin.h"
#include "kernels/reference/reference_linear.h"
#include "tests/unit/kernels/linear_case.h"

using namespace palimpsest;
using namespace palimpsest::kernels;
using namespace palimpsest::kernels::test;

namespace {

enum class Addition { None, Bias, Accumulate };

// The emulated GPU has four multiprocessors: from 129 rows on, a product of 264 columns uses large tiles.
struct PrefillSize {
    explicit PrefillSize(const TestBackend& on)
    {
        if (!on.emulated()) return;
        cols = 160;
        width = 264;
        counts = {1, 65, 129, 150};
        additions = {Addition::Bias};
    }
    int64_t cols = 4096, width = 4096;
    std::vector<int64_t> counts{1,    2,    3,    7,    8,    9,    15,   16,   17,   31,   32,  33,  63,
                                64,   65,   100,  127,  128,  129,  255,  256,  257,  511,  512, 513, 1000,
                                1023, 1024, 1025, 2047, 2048, 2049, 4095, 4096, 4097, 8191, 8192};
    std::vector<Addition> additions{Addition::None, Addition::Bias, Addition::Accumulate};
    int64_t most() const { return counts.back(); }
};

// The rows of one prefill; any range of them can be computed alone.
class PrefillRows {
public:
    PrefillRows(Backend& backend, DType type, const PrefillSize& size)
        : backend_(backend), size_(size), random_(seed), stored_(random_, type, size.width, size.cols),
          host_x_(random_floats(random_, size.most() * size.cols)), host_bias_(random_floats(random_, size.width)),
          weights_(backend, {&stored_}), x_(to_device(backend, host_x_)), bias_(to_device(backend, host_bias_)),
          y_(backend, static_cast<size_t>((size.most() + 1) * size.width) * sizeof(float))
    {
    }

    // `unaligned`: the output begins at an address that the matrix library does not accept.
    std::vector<float> computed(int64_t first, int64_t rows, Addition addition, bool unaligned)
    {
        const int64_t floats = rows * size_.width;
        float* y = y_.data<float>() + (unaligned ? 1 : 0);
        if (addition == Addition::Accumulate) // accumulates onto the bias, in every row
            for (int64_t r = 0; r < rows; ++r)
                backend_.copy(y + r * size_.width, bias_.data(), static_cast<size_t>(size_.width) * sizeof(float));
        LinearArgs args = args_of(*weights_.placed, x_.data<float>() + first * size_.cols, rows);
        args.bias = addition == Addition::Bias ? bias_.data<float>() : nullptr;
        args.accumulate = addition == Addition::Accumulate;
        args.y = y;
        backend_.linear(args);
        std::vector<float> got(static_cast<size_t>(floats));
        backend_.download(got.data(), y, got.size() * sizeof(float));
        return got;
    }

    // The expected row, in float64. It is the same for Accumulate as for Bias, because computed() fills the output
    // with the bias before it accumulates.
    std::vector<double> expected(int64_t row, Addition addition) const
    {
        LinearArgs args = args_of(*weights_.plain, host_x_.data() + row * size_.cols, 1);
        args.bias = addition == Addition::None ? nullptr : host_bias_.data();
        return reference::linear(args);
    }

    std::vector<float> row_of(const std::vector<float>& whole, int64_t row) const
    {
        const auto begin = whole.begin() + row * size_.width;
        return {begin, begin + size_.width};
    }

private:
    static LinearArgs args_of(const Weight& weight, const float* x, int64_t rows)
    {
        return {.x = x,
                .rows = rows,
                .norm = {},
                .weight = &weight,
                .bias = nullptr,
                .y = nullptr,
                .accumulate = false,
                .phase = Phase::Prefill};
    }

    Backend& backend_;
    const PrefillSize& size_;
    std::mt19937 random_;
    Stored stored_;
    std::vector<float> host_x_, host_bias_;
    Weights weights_;
    Buffer x_, bias_, y_;
};

std::string matrix_library(const TestBackend& on)
{
    CudaInfo survey;
    if (on.kind() == Kind::Cuda) DevicePlugin::find().survey(survey);
    return *survey.matrix_library ? survey.matrix_library : "no matrix library";
}

void check_prefill(const TestBackend& on, DType type)
{
    const PrefillSize size(on);
    const auto backend = on.open();
    PrefillRows product(*backend, type, size);
    INFO("on " << on << ", " << matrix_library(on) << ", type " << info(type).name << ", seed " << seed);
    for (const Addition addition : size.additions)
        for (const bool unaligned : {false, true}) {
            CAPTURE(static_cast<int>(addition), unaligned);
            const auto whole = product.computed(0, size.most(), addition, unaligned);
            for (const int64_t rows : size.counts)
                for (const int64_t first : {int64_t{0}, size.most() - rows}) {
                    const auto slice = product.computed(first, rows, addition, unaligned);
                    CAPTURE(rows, first);
                    CHECK(std::equal(slice.begin(), slice.end(), whole.begin() + first * size.width));
                }
            for (const int64_t row : {int64_t{0}, int64_t{63}, int64_t{64}, int64_t{128}, size.most() - 1}) {
                CAPTURE(row);
                const double error = largest_error(product.row_of(whole, row), product.expected(row, addition));
                CHECK(error < on.product_error(type, Phase::Prefill));
            }
        }
}

void check_prefill(DType type, size_t index)
{
    for (const TestBackend& on : every_backend())
        if (on.kind() != Kind::Cpu && takes(on, index)) check_prefill(on, type);
}

} // namespace

TEST_CASE("a prefill row of BF16 weights has the same bits among 1 to 8,192 rows", "[row bits]")
{
    check_prefill(DType::BF16, 0);
}

TEST_CASE("a prefill row of Q8_0 weights has the same bits among 1 to 8,192 rows", "[row bits]")
{
    check_prefill(DType::Q8_0, 1);
}

TEST_CASE("decode has the same bits whether it reads the rows of a weight two at a time or one at a time",
          "[row bits]")
{
    for (const TestBackend& on : every_backend()) {
        const auto backend = on.open();
        // An odd number of rows, more than 64 for each multiprocessor of a GPU, or of the four of the emulated one.
        const int64_t tall = on.kind() == Kind::Cuda ? 20001 : 259, cols = 1056, rows = 2;
        for (const DType type : all_types) {
            std::mt19937 random(seed);
            const Stored stored(random, type, tall, cols);
            Stored part = stored;
            part.matrix.rows = 63;
            const Weights whole(*backend, {&stored}), few(*backend, {&part});
            const auto x = random_floats(random, rows * cols), norm = random_floats(random, cols),
                       bias = random_floats(random, tall);
            auto y = random_floats(random, rows * tall);
            LinearArgs args{.x = x.data(),
                            .rows = rows,
                            .norm = {norm.data(), 1e-5f},
                            .weight = whole.plain.get(),
                            .bias = bias.data(),
                            .y = y.data(),
                            .accumulate = true,
                            .phase = Phase::Decode};
            INFO("on " << on << ", type " << info(type).name << ", seed " << seed);
            CHECK(largest_error(linear_on(*backend, args, *whole.placed), reference::linear(args)) <
                  on.product_error(type, Phase::Decode));
            args.accumulate = false;
            const auto abreast = linear_on(*backend, args, *whole.placed);
            args.weight = few.plain.get();
            const auto alone = linear_on(*backend, args, *few.placed);
            for (int64_t r = 0; r < rows; ++r)
                CHECK(std::equal(alone.begin() + r * part.matrix.rows, alone.begin() + (r + 1) * part.matrix.rows,
                                 abreast.begin() + r * tall));
        }
    }
}
