// How answers and notes are wanted: sampling, length, whether passages are read again and answers written from them
// alone, and whether notes are written while reading. Set by the window's thread, read by the engine thread.
#pragma once

#include <mutex>

#include "engine/session/sampler.h"
#include "storage/session/rereading.h"
#include "storage/session/session_context.h"

namespace palimpsest::ui {

class SamplingRequest {
public:
    // `max_tokens`: limit of an answer; 0: the default.
    void set(const engine::SamplerOptions& sampling, int max_tokens)
    {
        const std::lock_guard lock(mutex_);
        sampling_ = sampling;
        max_tokens_ = max_tokens;
    }
    engine::SamplerOptions sampling() const
    {
        const std::lock_guard lock(mutex_);
        return sampling_;
    }
    void set_rereads(bool rereads)
    {
        const std::lock_guard lock(mutex_);
        rereads_ = rereads;
    }
    void set_answers_from_sentences(bool from_sentences)
    {
        const std::lock_guard lock(mutex_);
        from_sentences_ = from_sentences;
    }
    storage::RereadOptions rereading() const
    {
        const std::lock_guard lock(mutex_);
        return {.mode = rereads_ ? storage::RereadMode::Auto : storage::RereadMode::Never,
                .rank_seconds = storage::RereadOptions::default_rank_seconds,
                .answer_from = from_sentences_ ? storage::AnswerFrom::Auto : storage::AnswerFrom::Session};
    }
    void set_writes_notes(bool writes_notes)
    {
        const std::lock_guard lock(mutex_);
        writes_notes_ = writes_notes;
    }
    storage::NoteMode note_mode() const // while documents are read
    {
        const std::lock_guard lock(mutex_);
        return writes_notes_ ? storage::NoteMode::Always : storage::NoteMode::Never;
    }
    int max_tokens() const
    {
        const std::lock_guard lock(mutex_);
        return max_tokens_ > 0 ? max_tokens_ : default_max_tokens;
    }

private:
    static constexpr int default_max_tokens = 1024;
    static constexpr double chat_temperature = 0.7;

    mutable std::mutex mutex_; // guards the members below
    engine::SamplerOptions sampling_{.temperature = chat_temperature};
    int max_tokens_ = 0;
    bool rereads_ = true, from_sentences_ = true;
    bool writes_notes_ = false;
};

} // namespace palimpsest::ui
