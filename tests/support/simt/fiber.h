// Execution contexts with their own stacks (Boost.Context), one running at a time; registered with the sanitizers.
#pragma once

#include <boost/context/fiber.hpp>
#include <cstddef>

namespace simt {

class Fiber {
public:
    using Body = Fiber& (*)(); // runs the fiber; returns the fiber that continues after it

    Fiber(); // a fiber for the current context
    explicit Fiber(Body body);
    Fiber(const Fiber&) = delete;
    Fiber& operator=(const Fiber&) = delete;
    ~Fiber(); // REQUIRES: its body has ended or never started

    // Runs this fiber; `running` is suspended until something resumes it. REQUIRES: `running` is the current fiber.
    void resume_from(Fiber& running);

private:
    boost::context::fiber begin(Body body, boost::context::fiber&& from);
    void leave_for(Fiber& next, bool ends);
    void arrive(boost::context::fiber&& from);

    boost::context::fiber paused_;
    const void* bottom_ = nullptr; // of the stack
    size_t stack_bytes_ = 0;
    [[maybe_unused]] void* fake_stack_ = nullptr;    // of AddressSanitizer
    [[maybe_unused]] void* thread_record_ = nullptr; // of ThreadSanitizer
    static Fiber* left_;                             // the fiber that ran before the current one
};

} // namespace simt
