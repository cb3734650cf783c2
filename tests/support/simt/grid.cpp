#include "tests/support/simt/grid.h"

#include <algorithm>
#include <mutex>
#include <string>

#include "tests/support/simt/block.h"

namespace simt {
namespace {

Order order_of_all = Order::Ascending;

// Held while threads run, because their waiting state is global to the process.
std::mutex& one_at_a_time()
{
    static std::mutex one;
    return one;
}

uint64_t block_count(const Grid& grid)
{
    return uint64_t{grid.blocks.x} * grid.blocks.y * grid.blocks.z;
}

void run_blocks(const Grid& grid, const std::vector<uint64_t>& but)
{
    static Block* const block = new Block; // a Block is large, so all grids share one
    block->set_grid(grid);
    const uint64_t count = block_count(grid);
    for (uint64_t i = 0; i < count; ++i) {
        const uint64_t number = order_of_all == Order::Ascending ? i : count - 1 - i;
        if (std::find(but.begin(), but.end(), number) == but.end()) block->run(number);
    }
}

} // namespace

void set_order(Order order)
{
    order_of_all = order;
}

Order current_order()
{
    return order_of_all;
}

void run(const Grid& grid)
{
    const std::lock_guard lock(one_at_a_time());
    run_blocks(grid, {});
}

EarlyGrid::EarlyGrid(const Grid& grid) : grid_(grid)
{
    const std::lock_guard lock(one_at_a_time());
    early_.push_back(0);
    if (const uint64_t count = block_count(grid); count > 1) early_.push_back(count - 1);
    if (order_of_all == Order::Descending) std::reverse(early_.begin(), early_.end());
    for (const uint64_t number : early_) {
        Block& block = *blocks_.emplace_back(std::make_unique<Block>(grid));
        block.begin(number);
        if (block.has_ended())
            throw Misuse(block.name() + " of a kernel that overlaps those before it ends without waiting for them");
        lets_next_begin_ = lets_next_begin_ && block.lets_next_begin();
    }
}

EarlyGrid::~EarlyGrid()
{
    const std::lock_guard lock(one_at_a_time());
    blocks_.clear();
}

void EarlyGrid::finish()
{
    const std::lock_guard lock(one_at_a_time());
    for (const auto& block : blocks_)
        block->finish();
    run_blocks(grid_, early_);
}

void* block_shared()
{
    return Block::active().shared();
}

void meet_block(const std::source_location& where)
{
    Block::active().meet_block(where);
}

const uint64_t* exchange(uint64_t mine, const std::source_location& where)
{
    return Block::active().exchange(mine, where);
}

unsigned lane()
{
    return Block::active().running() % lanes;
}

void await_earlier_kernels(const std::source_location& where)
{
    Block::active().await_earlier_kernels(where);
}

void let_next_kernel_begin()
{
    Block::active().let_next_kernel_begin();
}

void misuse(const char* what, const std::source_location& where)
{
    throw Misuse(std::string(what) + " at " + place(where));
}

} // namespace simt
