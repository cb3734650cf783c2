// The text of an answer while it is generated.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "engine/session/session.h"
#include "engine/text/detokenizer.h"

namespace palimpsest::storage {

const char* end_name(engine::GenerateEnd end); // as the JSON documents name it

// Accumulates generated text up to the first stop text; holds back a suffix that may be the start of a stop text.
class AnswerText {
public:
    AnswerText(const engine::Tokenizer& tokenizer, std::vector<std::string> stops)
        : detokenizer_(tokenizer, false), stops_(std::move(stops))
    {
    }

    // False once a stop text has appeared.
    bool push(engine::TokenId id) { return take(detokenizer_.push(id)); }
    void finish()
    {
        take(detokenizer_.finish());
        if (!stopped_) said_ = text_.size();
    }
    // Returns the text that became visible since the last call.
    std::string fresh()
    {
        std::string part = text_.substr(shown_, said_ - shown_);
        shown_ = said_;
        return part;
    }
    std::string text() const { return text_.substr(0, said_); }

private:
    bool take(const std::string& part)
    {
        if (stopped_) return false;
        text_ += part;
        size_t held = 0, end = std::string::npos;
        for (const std::string& stop : stops_) {
            end = std::min(end, text_.find(stop, said_));
            for (size_t n = std::min(stop.size(), text_.size() - said_); n > held; --n)
                if (text_.ends_with(stop.substr(0, n))) {
                    held = n;
                    break;
                }
        }
        if (end != std::string::npos) {
            said_ = end;
            stopped_ = true;
            return false;
        }
        said_ = text_.size() - held;
        return true;
    }

    engine::IncrementalDetokenizer detokenizer_;
    std::vector<std::string> stops_;
    std::string text_;
    size_t said_ = 0;  // length of text_ that cannot be part of a stop text
    size_t shown_ = 0; // length of text_ that fresh() has returned
    bool stopped_ = false;
};

} // namespace palimpsest::storage
