// XXH3-128 over pieces of files: a model's identity (rule G16).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace palimpsest::engine {

// Order matters, the cut into pieces does not.
class ContentHash {
public:
    ContentHash();
    ~ContentHash();
    ContentHash(const ContentHash&) = delete;
    ContentHash& operator=(const ContentHash&) = delete;

    void add(std::span<const std::byte> bytes);
    void add(uint64_t number);
    // The first and the last 2 KiB: a download that was cut and padded differs in the last.
    void add_sample(std::span<const std::byte> bytes);
    std::string hex() const; // 32 digits

private:
    struct State;
    std::unique_ptr<State> state_;
};

} // namespace palimpsest::engine
