// Files that come with this program, in share/palimpsest of the nearest folder above the running program that has
// them: the prefix of an installation, or the build tree.
#pragma once

#include <filesystem>
#include <string>

namespace palimpsest::storage {

// The model; it is very small. The path in the folder above the program's if no folder has it.
std::filesystem::path shipped_model();

// The change of a sentence encoder, by its identity (engine/encoder/encoder_change.h), that was trained on
// questions about books (resources/encoder/README.md). Empty: there is none for this encoder.
std::filesystem::path shipped_encoder_change(const std::string& encoder);

// The change of a sentence encoder, by its identity with the change above, with which it reads a question and a
// sentence together (engine/encoder/cross_encoder.h). Empty: there is none.
std::filesystem::path shipped_sentence_change(const std::string& encoder);

} // namespace palimpsest::storage
