#include "storage/session/session_context.h"

#include "kernels/base/error.h"
#include "kernels/base/printable.h"
#include "storage/session/list_lengths.h"
#include "storage/session/session_settings.h"

namespace palimpsest::storage {

Text SessionContext::subject() const
{
    return Text("session '{0}'", printable(info.name));
}

PassageEncoder* SessionContext::encoder()
{
    if (options.read_only || options.rereading.mode == RereadMode::Never) return nullptr;
    return installed_encoder.get(shared_by_encoder(*model), listener);
}

PassageEncoder* SessionContext::encoder_for_finding()
{
    if (!encoder()) return nullptr;
    return installed_encoder.get_for_finding(shared_by_encoder(*model), listener);
}

void SessionContext::encode(const std::function<void(PassageEncoder&)>& work)
{
    if (PassageEncoder* with = encoder()) installed_encoder.use(*with, listener, [&] { work(*with); });
}

SessionChoice SessionContext::begun_with() const
{
    const SessionSettings begun(info);
    SessionChoice choice = options.choice;
    choice.policy = begun.policy_given; // as given: pins change the resolved policy
    choice.budget = budget_text(begun.budget);
    choice.chunk = begun.chunk;
    choice.positions = begun.positions;
    choice.kv_type = begun.kv_type;
    choice.snapshot = name_of(begun.snapshot);
    choice.sampler = begun.sampling(choice.sampler);
    return choice;
}

} // namespace palimpsest::storage
