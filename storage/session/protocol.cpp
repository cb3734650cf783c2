#include "storage/session/protocol.h"

#include <iterator>

#include "kernels/base/byte_quantity.h"
#include "kernels/base/error.h"

namespace palimpsest::storage {
namespace {

[[noreturn]] void refuse(const Text& subject, const Text& what, const Text& remedy)
{
    throw Error(ErrorKind::Usage, ErrorCode::UnusableQuestion, subject, what, remedy);
}

bool is_blank(const std::string& text)
{
    return text.find_first_not_of(" \t\r\n") == std::string::npos;
}

} // namespace

Protocol protocol_of_session(const std::string& question)
{
    return question.empty() ? Protocol::Blind : Protocol::Steered;
}

std::vector<engine::TokenId> question_turn(const engine::ChatTemplate& chat_template, const std::string& question)
{
    auto ids = chat_template.question(question);
    const auto close = chat_template.close_user_open_assistant();
    ids.insert(ids.end(), close.begin(), close.end());
    return ids;
}

void require_question(const Text& subject, const std::string& question)
{
    if (is_blank(question))
        refuse(subject, Text("the question is empty"), Text("give a question, or leave it out"));
}

void make_room_for(const std::vector<engine::TokenId>& question_ids, const engine::ModelConfig& model,
                   const Text& subject, engine::SessionOptions& options)
{
    if (std::ssize(question_ids) >= model.context - options.chunk)
        refuse(subject,
               Text("the question has {0} tokens, and the model was trained on {1} positions, a chunk of {2} among "
                    "them",
                    format_count(question_ids.size()), format_count(static_cast<uint64_t>(model.context)),
                    options.chunk),
               Text("give a shorter question, or choose a smaller {0}", Setting::Chunk));
    options.question_room = static_cast<int32_t>(question_ids.size());
}

void steer(engine::Session& session, const std::vector<engine::TokenId>& question_ids, const Text& subject)
{
    if (!session.policy().signals().attention())
        refuse(
            subject,
            Text("the policy {0} looks at no attention and would keep the same", session.options().policy.text()),
            Text("choose a policy that does, such as snapkv or treekv"));
    session.set_question_ids(question_ids);
}

} // namespace palimpsest::storage
