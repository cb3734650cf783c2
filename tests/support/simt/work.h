// The work that is submitted to a stream: kernels, copies and fills.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "tests/support/simt/grid.h"
#include "tests/support/simt/runtime_api.h"

namespace simt {

class Work {
public:
    explicit Work(std::function<cudaError_t()> other) : other_(std::move(other)) {}
    // `overlaps`: the kernel was launched with programmatic stream serialization.
    Work(Grid grid, bool overlaps) : grid_(std::move(grid)), overlaps_(overlaps) {}

    cudaError_t run() const;
    // Whether this work may begin before `earlier`, its direct predecessor, has run.
    bool overlaps(const Work& earlier) const { return overlaps_ && earlier.grid_; }
    std::unique_ptr<EarlyGrid> begin_early() const; // this must outlive the result

private:
    std::optional<Grid> grid_; // set if the work is a kernel
    bool overlaps_ = false;
    std::function<cudaError_t()> other_;
};

// One execution of a Work, which may begin early.
class Turn {
public:
    explicit Turn(const Work& work) : work_(work) {} // must outlive this
    bool overlaps(const Turn& earlier) const { return work_.overlaps(earlier.work_); }
    // Begins the execution unless it has begun; returns whether the following work may begin, too.
    bool begin_early();
    cudaError_t run();

private:
    const Work& work_;
    std::unique_ptr<EarlyGrid> begun_;
};

// How many consecutive kernels begin before their predecessor runs, at most.
inline constexpr int most_early = 3;

} // namespace simt
