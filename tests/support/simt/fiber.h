// Stacks of their own to go on with, one at a time (Boost.Context), known to the sanitizers.
#pragma once

#include <boost/context/fiber.hpp>
#include <cstddef>

namespace simt {

class Fiber {
public:
    using Body = Fiber& (*)(); // gives who goes on once it has ended

    Fiber(); // what runs now
    explicit Fiber(Body body);
    Fiber(const Fiber&) = delete;
    Fiber& operator=(const Fiber&) = delete;
    ~Fiber(); // REQUIRES: its body has ended or never begun

    // `running` stops here until somebody resumes it. REQUIRES: it is what runs now.
    void resume_from(Fiber& running);

private:
    boost::context::fiber begin(Body body, boost::context::fiber&& from);
    void leave_for(Fiber& next, bool ends);
    void arrive(boost::context::fiber&& from);

    boost::context::fiber paused_;
    const void* bottom_ = nullptr; // of the stack
    size_t stack_bytes_ = 0;
    void* fake_stack_ = nullptr;    // of AddressSanitizer
    void* thread_record_ = nullptr; // of ThreadSanitizer
    static Fiber* left_;            // who ran before what runs now
};

} // namespace simt
