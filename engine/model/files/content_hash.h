// XXH3-128 over pieces of files; identifies a model (docs/validation.md, G16).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace palimpsest::engine {

// The hash depends on the order of the bytes, not on how they are divided between calls.
class ContentHash {
public:
    ContentHash();
    ~ContentHash();
    ContentHash(const ContentHash&) = delete;
    ContentHash& operator=(const ContentHash&) = delete;

    void add(std::span<const std::byte> bytes);
    void add(uint64_t number);
    // Adds the first and the last 2 KiB: if a download broke off and the file was padded, the last 2 KiB differ.
    void add_sample(std::span<const std::byte> bytes);
    std::string hex() const; // 32 hex digits

private:
    struct State;
    std::unique_ptr<State> state_;
};

} // namespace palimpsest::engine
