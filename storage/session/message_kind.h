// Judges by its words whether the documents can answer a message of a conversation, or only the session, which
// holds what was said. The words are English, some German; a message in another language is judged by its question
// mark.
#pragma once

#include <string_view>

namespace palimpsest::storage {

// Whether it asks for something: it ends with a question mark or begins as a question does.
bool is_question(std::string_view message);

// Whether it is about who talks, as "What is my brother called?" or "What did you say of him?"; not "Can you tell
// me who he is?".
bool is_about_conversation(std::string_view message);

// Whether it can be understood without what was said before it: "Who painted the door?", but neither "Why?", "What
// about Ruth?" nor "Did he like London?".
bool stands_alone(std::string_view question);

} // namespace palimpsest::storage
