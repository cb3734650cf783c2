// Reads a text with one session and measures the loss of its tokens and the time: for `eval ppl`, `compare` and the
// window's comparison.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "engine/eval/loss_meter.h"
#include "engine/session/session.h"

namespace palimpsest::engine {

class MeasuredReading {
public:
    // Makes the session. A retrieval policy reads only a part of its lists when it decodes, so it is measured one
    // token at a time: its chunk is 1, whatever the options say. `lengths`: see LossMeter. `text` must outlive
    // this. Throws as the constructor of Session does. REQUIRES: text is not empty.
    MeasuredReading(const std::shared_ptr<const Model>& model, SessionOptions options,
                    std::span<const TokenId> text, std::vector<uint64_t> lengths = {});

    Session& session() const { return *session_; }
    // The number of tokens to read: all of the text, or fewer if the lists of a policy that keeps every token
    // cannot hold them.
    uint64_t last() const { return text_.size(); }
    bool is_complete() const { return is_complete_; } // last() is the end of the text
    uint64_t read() const { return read_; }           // tokens read so far
    bool is_done() const { return read_ == last(); }

    // Reads the tokens before `end`, at most up to last(): in chunks, or one by one for a retrieval policy. Passes
    // progress and losses to `options`. Returns false if stopped; the session then holds a part of the tokens, and
    // nothing more can be read. REQUIRES: end >= read(). Throws as Session::feed does.
    bool read_up_to(uint64_t end, const FeedOptions& options);
    bool read_all(const FeedOptions& options) { return read_up_to(last(), options); }

    const LossMeter& losses() const { return losses_; }
    double seconds() const { return seconds_; } // spent in read_up_to so far, with the computation of losses
    double tokens_per_second() const { return seconds_ > 0 ? static_cast<double>(read_) / seconds_ : 0; }

private:
    bool decode(std::span<const TokenId> tokens, const FeedOptions& options);

    std::unique_ptr<Session> session_;
    std::span<const TokenId> text_; // cut to last() tokens
    bool is_complete_ = true;
    LossMeter losses_;
    uint64_t read_ = 0;
    double seconds_ = 0;
};

} // namespace palimpsest::engine
