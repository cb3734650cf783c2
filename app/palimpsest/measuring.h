// How `eval ppl` and `compare` read an input with one policy and budget.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "app/palimpsest/common_options.h"
#include "app/palimpsest/console.h"
#include "app/palimpsest/token_source.h"
#include "engine/eval/measured_reading.h"

namespace palimpsest::app {

// Finds the pins of the options in the tokens, and writes the notes about them. Throws Error as PinSearch.
engine::Pins pins_to_measure(const engine::Model& model, const CommonOptions& options, const SourceTokens& tokens,
                             const TokenSource& source, Console& console);

// The lengths from which a measurement's budget and positions follow: a budget that is a share is one of the tokens
// that are read (those of --first, of a window, of a text with hidden sentences), without the `added` ones before
// them. `more`: tokens of questions and answers, which are fed behind them.
storage::KnownLength length_to_measure(uint64_t tokens, uint64_t added, uint64_t more = 0);

// `options`: the command's, with the policy and budget to measure. `lengths`: see engine::LossMeter. `tokens` must
// outlive the result. Throws Error (Usage) for options that do not fit the model or one another.
engine::MeasuredReading measured_reading(const std::shared_ptr<const engine::Model>& model,
                                         const CommonOptions& options, const SourceTokens& tokens,
                                         const engine::Pins& pins, std::vector<uint64_t> lengths = {});

// Reads all of `tokens` and reports progress under the name `what`; losses go to `loss`, if there is one. Returns
// false if stopped.
bool read_all(engine::MeasuredReading& reading, const SourceTokens& tokens, const std::string& what,
              const CommonOptions& options, Console& console,
              const std::function<void(uint64_t, engine::TokenId, double)>& loss = {});

} // namespace palimpsest::app
