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

    void* take(size_t bytes); // 256-byte aligned, filled with 0xff bytes; null if full
    bool give(void* data);    // returns false if `data` is not an allocation
    size_t used() const { return used_; }
    // Whether the whole range is inside one allocation.
    bool holds(const void* data, size_t bytes) const;
    bool is_near(const void* data) const { return data >= base_ && data < base_ + total; }

    // With `out`, only kernels and runtime copies can access the memory; other accesses crash, as with a GPU. Slows
    // down every call.
    void forbid_host_access(bool out);
    // Allows all accesses during its lifetime.
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
    std::map<size_t, size_t> taken_; // offset -> bytes
    size_t used_ = 0;
    size_t reach_ = 0; // nothing was ever allocated beyond this offset
    int open_ = 0;
    bool host_is_out_ = false;
    size_t closed_ = 0; // how many bytes from base_ on are inaccessible at present
};

} // namespace simt
