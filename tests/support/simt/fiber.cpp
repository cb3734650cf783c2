#include "tests/support/simt/fiber.h"

#include <boost/context/protected_fixedsize_stack.hpp>
#include <utility>

#include "kernels/base/sanitized.h"

#ifdef PALIMPSEST_ADDRESS_SANITIZER
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef PALIMPSEST_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
#endif

namespace simt {
namespace {

namespace context = boost::context;

// A stack with a guard page. Stacks start at different offsets in a page, because they would otherwise compete for
// the same sets of the L1 cache.
class Stack {
public:
    context::stack_context allocate()
    {
        static size_t made = 0;
        shift_ = made++ % 31 * 128;
        context::stack_context stack = pages_.allocate();
        return shifted(stack, 0 - shift_);
    }
    void deallocate(context::stack_context& stack)
    {
        context::stack_context whole = shifted(stack, shift_);
        pages_.deallocate(whole);
    }

private:
    static context::stack_context shifted(context::stack_context stack, size_t by)
    {
        stack.sp = static_cast<std::byte*>(stack.sp) + static_cast<std::ptrdiff_t>(by);
        stack.size += by;
        return stack;
    }

    static constexpr size_t bytes = 256 * 1024;
    context::protected_fixedsize_stack pages_{bytes};
    size_t shift_ = 0;
};

} // namespace

Fiber* Fiber::left_ = nullptr;

Fiber::Fiber()
{
#ifdef PALIMPSEST_THREAD_SANITIZER
    thread_record_ = __tsan_get_current_fiber();
#endif
}

Fiber::Fiber(Body body)
{
    Stack stack;
    const context::stack_context memory = stack.allocate();
    stack_bytes_ = memory.size;
    bottom_ = static_cast<const std::byte*>(memory.sp) - memory.size;
#ifdef PALIMPSEST_THREAD_SANITIZER
    thread_record_ = __tsan_create_fiber(0);
#endif
    paused_ = context::fiber(std::allocator_arg, context::preallocated(memory.sp, memory.size, memory), stack,
                             [this, body](context::fiber&& from) { return begin(body, std::move(from)); });
}

Fiber::~Fiber()
{
#ifdef PALIMPSEST_THREAD_SANITIZER
    if (bottom_) __tsan_destroy_fiber(thread_record_);
#endif
}

void Fiber::resume_from(Fiber& running)
{
    running.leave_for(*this, false);
    running.arrive(std::move(paused_).resume());
}

boost::context::fiber Fiber::begin(Body body, context::fiber&& from)
{
    arrive(std::move(from));
    Fiber& next = body();
    leave_for(next, true);
    return std::move(next.paused_);
}

void Fiber::leave_for([[maybe_unused]] Fiber& next, [[maybe_unused]] bool ends)
{
    left_ = this;
#ifdef PALIMPSEST_ADDRESS_SANITIZER
    __sanitizer_start_switch_fiber(ends ? nullptr : &fake_stack_, next.bottom_, next.stack_bytes_);
#endif
#ifdef PALIMPSEST_THREAD_SANITIZER
    __tsan_switch_to_fiber(next.thread_record_, 0);
#endif
}

void Fiber::arrive(context::fiber&& from)
{
    Fiber& previous = *left_;
    previous.paused_ = std::move(from);
#ifdef PALIMPSEST_ADDRESS_SANITIZER
    const void* bottom = nullptr;
    size_t bytes = 0;
    __sanitizer_finish_switch_fiber(fake_stack_, &bottom, &bytes);
    if (!previous.bottom_) {
        previous.bottom_ = bottom;
        previous.stack_bytes_ = bytes;
    }
#endif
}

} // namespace simt
