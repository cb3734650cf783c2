// The options that an answer to a multiple choice question names, as L-Eval reads them.
#pragma once

#include <string>
#include <string_view>

namespace palimpsest::engine {

enum class OptionCount { One, Several };

// The letters A to D of the answer; "A" where L-Eval finds none, "None" for a blank answer. One: the first
// such letter, of a word as well, or all that an answer of letters in a row has. Several: those at the start and,
// of fewer than two, those before white space, a full stop or a bracket, in order; or else the first ones in a row.
std::string option_letters(std::string_view said, OptionCount count);

// Those of the first word of the right answer, "(B) Because ..."; "A" where there is none.
std::string right_option_letters(std::string_view right);

} // namespace palimpsest::engine
