// The turns of a stored session: messages and their answers, stored while they grow; and going back to an earlier
// one.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "storage/session/checkpoints.h"
#include "storage/session/device_fallback.h"
#include "storage/session/framed_turn.h"
#include "storage/session/rereading.h"
#include "storage/session/session_framing.h"
#include "storage/session/stream_feeder.h"
#include "storage/session/turn_journal.h"

namespace palimpsest::storage {

class SessionTurns {
public:
    // The arguments must outlive this object.
    SessionTurns(SessionContext& context, const SessionFraming& framing, StreamFeeder& feeder,
                 Checkpoints& checkpoints, TurnJournal& journal, const DeviceFallback& fallback)
        : context_(context), framing_(framing), feeder_(feeder), checkpoints_(checkpoints), journal_(journal),
          fallback_(fallback)
    {
    }

    engine::GenerateResult say(const std::string& message, const engine::GenerateOptions& options);
    engine::GenerateResult regenerate(const engine::SamplerOptions& sampling,
                                      const engine::GenerateOptions& options);
    // Whether an empty session wrote the last answer (generate_apart).
    bool was_written_apart() const { return was_written_apart_; }
    // Removes the last message and its answer; the caller chooses the sampling afterwards and saves.
    void undo();
    std::string branch(const std::string& name, int64_t message);

private:
    // `apart`: what an empty session reads to write the answer (generate_apart); empty: the session writes it.
    using Prompt = std::vector<engine::TokenId>;
    engine::GenerateResult answer(Turn& turn, const Prompt& apart, const engine::GenerateOptions& options);
    engine::GenerateResult generate(Turn& turn, const Prompt& apart, const engine::GenerateOptions& options);
    engine::GenerateResult generate_apart(const Turn& turn, const Prompt& apart,
                                          const engine::GenerateOptions& options);
    // `part`: of the message, in the stream.
    bool may_answer_apart(const std::string& message, size_t part) const;
    Prompt prompt_apart(const Message& question, size_t part) const;
    engine::GenerateResult end_turn(Turn& turn, engine::GenerateResult result);
    std::optional<Rereading> look_up(const std::string& message, const std::stop_token& stop) const;
    void add_excerpts(Rereading& found, const Question& question, const std::stop_token& stop) const;
    void check_message(const std::string& message, const FramedTurn& turn) const;
    size_t last_question() const;
    std::optional<uint64_t> go_back_to(size_t question, const std::stop_token& stop);
    Turn* begin_other_answer(size_t question, const engine::SamplerOptions& sampling, const std::stop_token& stop);
    void return_to_stored();
    void restore_all();

    SessionContext& context_;
    const SessionFraming& framing_;
    StreamFeeder& feeder_;
    Checkpoints& checkpoints_;
    TurnJournal& journal_;
    const DeviceFallback& fallback_;
    bool was_written_apart_ = false;
};

} // namespace palimpsest::storage
