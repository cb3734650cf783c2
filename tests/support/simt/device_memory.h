// Memory of the emulated device.
#pragma once

#include <cstddef>
#include <map>

namespace simt {

class DeviceMemory {
public:
    static constexpr size_t total = size_t{8} << 30;

    DeviceMemory();
    ~DeviceMemory();
    DeviceMemory(const DeviceMemory&) = delete;
    DeviceMemory& operator=(const DeviceMemory&) = delete;

    void* take(size_t bytes); // 256-byte aligned, filled with ones; null: there is no room
    bool give(void* data);    // false: it was not taken
    size_t used() const { return used_; }
    // Whether all of it lies in memory that was taken.
    bool holds(const void* data, size_t bytes) const;
    bool is_near(const void* data) const { return data >= base_ && data < base_ + total; }

    // Only kernels and the runtime's copies may touch it then: whatever else does ends the program, as it would on
    // a machine with a GPU. Takes time with every call.
    void keep_host_out(bool out);
    // While one lives, all may be touched.
    class Access {
    public:
        explicit Access(DeviceMemory& memory) : memory_(memory)
        {
            ++memory_.open_;
            memory_.protect();
        }
        ~Access()
        {
            --memory_.open_;
            memory_.protect();
        }
        Access(const Access&) = delete;
        Access& operator=(const Access&) = delete;

    private:
        DeviceMemory& memory_;
    };

private:
    void protect();

    std::byte* base_ = nullptr;
    std::map<size_t, size_t> taken_; // bytes by offset
    size_t used_ = 0;
    size_t reach_ = 0; // beyond it nothing was ever taken
    int open_ = 0;
    bool host_is_out_ = false;
    size_t closed_ = 0; // from the beginning on, as the system knows it
};

} // namespace simt
