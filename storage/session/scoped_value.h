// Sets a variable for the lifetime of this object and restores it at the end, also on exceptions.
#pragma once

#include <utility>

namespace palimpsest::storage {

template<class T>
class ScopedValue {
public:
    ScopedValue(T& place, T value) : place_(place), before_(std::exchange(place, std::move(value))) {}
    ~ScopedValue() { place_ = std::move(before_); }
    ScopedValue(const ScopedValue&) = delete;
    ScopedValue& operator=(const ScopedValue&) = delete;

private:
    T& place_;
    T before_;
};

} // namespace palimpsest::storage
