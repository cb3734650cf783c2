// Limits the cost of rendering a template. Templates come from untrusted files: an endless loop, an endlessly
// recursive macro or a string that doubles in every step ends with an error.
#pragma once

#include <cstddef>
#include <cstdint>

namespace palimpsest::engine::jinja {

namespace limits {
inline constexpr size_t expression_depth = 200; // of a syntax tree
inline constexpr size_t statement_depth = 100;
inline constexpr size_t value_depth = 64; // of nested lists and dicts
inline constexpr size_t run_depth = 1200; // of statements and expressions being evaluated, across macro calls
inline constexpr uint64_t steps = 2'000'000;
inline constexpr uint64_t made_bytes = 64ull << 20; // of all strings and lists created, including released ones
inline constexpr uint64_t output_bytes = 1ull << 20;
inline constexpr int64_t range_items = 100'000; // as in Jinja's sandbox
} // namespace limits

// Counts the steps and bytes of one rendering. The limits grow with `input_bytes`, the size of the rendered
// conversation.
class Meter {
public:
    explicit Meter(uint64_t input_bytes)
        : steps_left_(limits::steps + 4 * input_bytes), bytes_left_(limits::made_bytes + 64 * input_bytes),
          output_left_(limits::output_bytes + 4 * input_bytes)
    {
    }

    // Throw Error (Failed, PAL-TEMPLATE-04) beyond the limit.
    void step(uint64_t count = 1)
    {
        if (count > steps_left_) too_many_steps();
        steps_left_ -= count;
    }
    // Called before `count` bytes are allocated.
    void make(uint64_t count)
    {
        if (count > bytes_left_) too_many_bytes();
        bytes_left_ -= count;
        step(count / 64);
    }
    void output(uint64_t count)
    {
        if (count > output_left_) too_much_output();
        output_left_ -= count;
    }

    // Counts one level of nested evaluation, for the lifetime of the object.
    class Level {
    public:
        explicit Level(Meter& meter) : meter_(meter)
        {
            if (++meter_.depth_ > limits::run_depth) {
                --meter_.depth_;
                too_deep();
            }
            meter_.step();
        }
        ~Level() { --meter_.depth_; }
        Level(const Level&) = delete;
        Level& operator=(const Level&) = delete;

    private:
        Meter& meter_;
    };

private:
    [[noreturn]] static void too_many_steps();
    [[noreturn]] static void too_many_bytes();
    [[noreturn]] static void too_much_output();
    [[noreturn]] static void too_deep();

    uint64_t steps_left_, bytes_left_, output_left_;
    size_t depth_ = 0;
};

} // namespace palimpsest::engine::jinja
