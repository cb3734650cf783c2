#include "ui/engine/loaded_model.h"

#include <utility>

#include "engine/text/chat_template.h"
#include "kernels/base/error.h"
#include "storage/session/model_choice.h"
#include "storage/session/reading.h"
#include "storage/session/session_choice.h"
#include "storage/session/session_settings.h"

namespace palimpsest::ui {
namespace {

ModelChoiceRequest on_cpu(ModelChoiceRequest request)
{
    request.device = QStringLiteral("cpu");
    return request;
}

bool has_system_prompt(const engine::Model& model)
try {
    const engine::ChatTemplate probe(model.files().vocabulary, storage::require_tokenizer(model), {.system = "x"});
    return !probe.plain() && probe.warning().empty();
} catch (const Error&) {
    return false; // the model has no tokenizer
}

} // namespace

LoadedModel::LoadedModel(CommandLoop& loop, FramePublisher& frames, Changed changed)
    : loop_(loop), frames_(frames), changed_(std::move(changed))
{
}

std::shared_ptr<const engine::Model> LoadedModel::shared_model() const
{
    const std::lock_guard lock(mutex_);
    return shared_model_;
}

bool LoadedModel::template_has_system_prompt() const
{
    const std::lock_guard lock(mutex_);
    return template_has_system_prompt_;
}

std::string LoadedModel::default_compute()
{
    return storage::SessionChoice().compute;
}

std::shared_ptr<const engine::Model> LoadedModel::load(const ModelChoiceRequest& request,
                                                       const std::string& compute)
{
    storage::SessionChoice choice;
    choice.model = request.model.toStdString();
    choice.device = request.device.toStdString();
    choice.threads = request.threads;
    choice.compute = compute;
    const auto publish_progress = [this](double share) {
        loop_.run_interleaved();
        frames_.set_share(share);
        frames_.publish_frame_if_due();
    };
    return storage::load_model(choice, 1, {.progress = publish_progress, .stop = loop_.stop()});
}

void LoadedModel::use(std::shared_ptr<const engine::Model> model, const ModelChoiceRequest& request,
                      const std::string& compute)
{
    request_ = request;
    compute_ = compute;
    if (model == model_) return;
    model_ = std::move(model);
    const bool has_prompt = !model_ || has_system_prompt(*model_);
    {
        const std::lock_guard lock(mutex_);
        shared_model_ = model_;
        template_has_system_prompt_ = has_prompt;
    }
    if (!model_) return changed_({}, {});
    changed_(QString::fromStdString(storage::display_name(*model_)),
             QString::fromStdString(model_->backend().name()));
}

// Whether the loaded model computes products as `compute` says. A CPU without VNNI computes exact products under
// either setting, so different settings can mean the same; on a GPU, only equal settings do.
bool LoadedModel::has_products(const std::string& compute) const
{
    if (!model_) return false;
    const kernels::Backend& backend = model_->backend();
    return compute_ == compute || (backend.exact_products() && compute == storage::compute_name(backend));
}

void LoadedModel::use_for_new_session()
{
    if (has_products(default_compute())) return;
    auto model = load(request_, default_compute());
    use(std::move(model), request_, default_compute());
}

void LoadedModel::use_for(const storage::SessionInfo& session)
{
    const storage::SessionSettings settings(session);
    const bool is_loaded = model_ && model_->fingerprint() == session.model;
    if (is_loaded && has_products(settings.compute)) return;
    ModelChoiceRequest request = request_;
    request.model = QString::fromStdString(is_loaded ? model_->files().path.string()
                                                     : storage::find_model_of(session.model, settings.model));
    auto model = load(request, settings.compute);
    if (model->fingerprint() != session.model)
        throw Error(ErrorKind::Failed, ErrorCode::IncompatibleSnapshot, Text::escaped(request.model.toStdString()),
                    Text("it is another model now"), Text("put back the one that was there"));
    use(std::move(model), request, settings.compute);
}

void LoadedModel::follow_device_loss(const storage::StoredSession& session)
{
    if (!session.has_engine() || session.lost_device().empty()) return;
    if (model_ && model_->backend().name() != session.lost_device()) return;
    use(session.shared_model(), on_cpu(request_), compute_);
}

void LoadedModel::unload_lost_device()
{
    use(nullptr, on_cpu(request_), compute_);
}

} // namespace palimpsest::ui
