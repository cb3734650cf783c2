// Mixture-of-experts feed-forward layers ("Outrageously Large Neural Networks", Shazeer et al. 2017, section 2;
// routing as in "Mixtral of Experts", Jiang et al. 2024, section 2.1).
//
// Rows are grouped by expert, and the rows of an expert are computed as one product with gate_up and one with down.
// The results of the experts are added to a row in ascending order of expert numbers, so that its bits depend
// neither on the other rows nor on the number of threads.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/cpu/cpu_weight.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/product.h"
#include "kernels/cpu/rms_norm.h"

namespace palimpsest::kernels::cpu {
namespace {

// y[i] += a x[i]
void add_scaled(const float* x, float a, int64_t count, float* y)
{
    for (int64_t i = 0; i < count; ++i)
        y[i] += a * x[i];
}

// Assigns rows to experts, with weights.
class Routing {
public:
    Routing(const ExpertsArgs& args, CpuContext& context)
        : args_(args), experts_(args.router->rows()),
          logits_(context.shared_scratch(ScratchUse::Routing).get<float>(memory_words())),
          weights_(logits_ + args.rows * experts_)
    {
        auto* words = static_cast<int32_t*>(static_cast<void*>(weights_ + args.rows * args.used));
        chosen_ = words;
        begins_ = chosen_ + args.rows * args.used;
        grouped_ = begins_ + experts_ + 1;
    }

    float* logits() const { return logits_; } // [rows, experts], to be filled before route()

    void route(CpuContext& context)
    {
        std::fill_n(chosen_, args_.rows * args_.used, 0); // a stopped run skips rows, whose choice stays 0
        context.threads.run(args_.rows, [&](int64_t row, int) { choose(row); });
        group();
    }

    int64_t begin(int64_t expert) const { return begins_[expert]; }
    int64_t end(int64_t expert) const { return begins_[expert + 1]; }
    int64_t most_rows() const
    {
        int64_t most = 0;
        for (int64_t e = 0; e < experts_; ++e)
            most = std::max(most, end(e) - begin(e));
        return most;
    }
    // For i in [begin(expert), end(expert)): a row that chose the expert (ascending), and the expert's weight for
    // that row.
    int64_t row(int64_t i) const { return grouped_[i] / args_.used; }
    float weight(int64_t i) const { return weights_[grouped_[i]]; }

private:
    size_t memory_words() const
    {
        return static_cast<size_t>(args_.rows * (experts_ + 3 * args_.used) + experts_ + 1);
    }

    // Chooses the experts with the largest logits (ties: the lower number first) and computes their weights.
    void choose(int64_t row)
    {
        const float* logits = logits_ + row * experts_;
        int32_t* chosen = chosen_ + row * args_.used;
        float* weights = weights_ + row * args_.used;
        for (int32_t u = 0; u < args_.used; ++u) {
            int32_t best = -1;
            for (int32_t e = 0; e < experts_; ++e)
                if (std::find(chosen, chosen + u, e) == chosen + u && (best < 0 || logits[e] > logits[best]))
                    best = e;
            chosen[u] = best;
        }
        const double top = static_cast<double>(logits[chosen[0]]);
        const auto mass = [&](int64_t e) { return std::exp(static_cast<double>(logits[e]) - top); };
        double total = 0;
        if (args_.renormalise)
            for (int32_t u = 0; u < args_.used; ++u)
                total += mass(chosen[u]);
        else
            for (int64_t e = 0; e < experts_; ++e)
                total += mass(e);
        for (int32_t u = 0; u < args_.used; ++u)
            weights[u] = static_cast<float>(mass(chosen[u]) / total);
    }

    // Sorts the choices by expert, with a stable counting sort.
    void group()
    {
        std::fill_n(begins_, experts_ + 1, 0);
        const int64_t choices = args_.rows * args_.used;
        for (int64_t i = 0; i < choices; ++i)
            ++begins_[chosen_[i] + 1];
        std::partial_sum(begins_, begins_ + experts_ + 1, begins_);
        for (int64_t i = 0; i < choices; ++i)
            grouped_[begins_[chosen_[i]]++] = static_cast<int32_t>(i);
        std::copy_backward(begins_, begins_ + experts_, begins_ + experts_ + 1);
        begins_[0] = 0;
    }

    const ExpertsArgs& args_;
    int64_t experts_;
    float* logits_;              // [rows, experts]
    float* weights_;             // [rows, used]
    int32_t* chosen_ = nullptr;  // [rows, used]
    int32_t* begins_ = nullptr;  // [experts + 1]
    int32_t* grouped_ = nullptr; // [rows * used]: indices into chosen_, sorted by expert
};

// Returns the layer's input after the norm: [rows, dim].
const float* normed_rows(const ExpertsArgs& args, int64_t dim, CpuContext& context)
{
    float* normed = context.shared_scratch(ScratchUse::ExpertRows).get<float>(static_cast<size_t>(args.rows * dim));
    context.threads.run(args.rows, [&](int64_t row, int) {
        const float* x = args.x + row * dim;
        if (args.norm.weight)
            rms_norm(x, args.norm, dim, normed + row * dim);
        else
            std::copy_n(x, dim, normed + row * dim);
    });
    return normed;
}

// Memory that the experts use one after the other, sized for the expert with the most rows.
struct ExpertMemory {
    float* rows = nullptr;   // [rows, dim]: the expert's input, then its output
    float* hidden = nullptr; // [rows, 2 * ffn]
};

// Adds the weighted output of expert `e` to the rows of x that chose it.
void run_expert(const ExpertsArgs& args, const Routing& routing, int64_t e, const float* normed,
                const ExpertMemory& memory, CpuContext& context)
{
    const int64_t begin = routing.begin(e), rows = routing.end(e) - begin;
    if (rows == 0) return;
    const CpuWeight& gate_up = on_cpu(args.gate_up[static_cast<size_t>(e)]);
    const CpuWeight& down = on_cpu(args.down[static_cast<size_t>(e)]);
    const int64_t dim = down.rows(), ffn = down.cols();
    context.threads.run(rows, [&](int64_t i, int) {
        std::copy_n(normed + routing.row(begin + i) * dim, dim, memory.rows + i * dim);
    });
    multiply({.x = {.x = memory.rows, .rows = rows, .cols = dim}, .weight = &gate_up, .y = memory.hidden},
             args.phase, context);
    multiply({.x = {.x = memory.hidden, .rows = rows, .cols = ffn, .gated = true, .activation = args.activation},
              .weight = &down,
              .y = memory.rows},
             args.phase, context);
    context.threads.run(rows, [&](int64_t i, int) {
        const float weight = args.factor * routing.weight(begin + i);
        add_scaled(memory.rows + i * dim, weight, dim, args.x + routing.row(begin + i) * dim);
    });
}

} // namespace

void experts(const ExpertsArgs& args, CpuContext& context)
{
    const int64_t dim = args.router->cols(), ffn = args.down.front()->cols();
    const float* normed = normed_rows(args, dim, context);
    Routing routing(args, context);
    multiply(
        {.x = {.x = normed, .rows = args.rows, .cols = dim}, .weight = &on_cpu(args.router), .y = routing.logits()},
        args.phase, context);
    routing.route(context);
    const auto most = static_cast<size_t>(routing.most_rows());
    ExpertMemory memory;
    memory.rows = context.shared_scratch(ScratchUse::Unfinished).get<float>(most * static_cast<size_t>(dim));
    memory.hidden = context.shared_scratch(ScratchUse::Hidden).get<float>(most * static_cast<size_t>(2 * ffn));
    for (int64_t e = 0; e < args.router->rows(); ++e)
        run_expert(args, routing, e, normed, memory, context);
}

} // namespace palimpsest::kernels::cpu
