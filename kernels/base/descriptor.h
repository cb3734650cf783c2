#pragma once

#include <unistd.h>
#include <utility>

namespace palimpsest {

// A file descriptor that is closed in the end; negative: none.
class Descriptor {
public:
    explicit Descriptor(int number = -1) : number_(number) {}
    ~Descriptor() { reset(); }
    Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept
    {
        reset(std::exchange(other.number_, -1));
        return *this;
    }

    int get() const { return number_; }
    bool is_open() const { return number_ >= 0; }
    void reset(int number = -1)
    {
        if (number_ >= 0) close(number_);
        number_ = number;
    }

private:
    int number_;
};

} // namespace palimpsest
