// The model that is loaded, how it was requested, and the product type it was loaded with.
//
// Used by the engine thread only, except where stated otherwise.
#pragma once

#include <QString>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "engine/model/model.h"
#include "storage/conversations.h"
#include "storage/session/stored_session.h"
#include "ui/engine/command_loop.h"
#include "ui/engine/engine_thread.h"
#include "ui/engine/frame_publisher.h"

namespace palimpsest::ui {

class LoadedModel {
public:
    // Called when the model has changed. Both empty: none is loaded.
    using Changed = std::function<void(const QString& name, const QString& device)>;

    // `loop` and `frames` must outlive this object.
    LoadedModel(CommandLoop& loop, FramePublisher& frames, Changed changed);

    // ---- called on any thread
    std::shared_ptr<const engine::Model> shared_model() const; // null: none is loaded
    bool template_has_system_prompt() const;

    // ---- called on the engine thread
    const std::shared_ptr<const engine::Model>& model() const { return model_; } // null: none is loaded
    const ModelChoiceRequest& request() const { return request_; }
    const std::string& compute() const { return compute_; } // product type, as a value of --compute
    static std::string default_compute();

    // Loads a model without using it; publishes the progress and runs short commands meanwhile. Throws Error and
    // Interrupted as storage::load_model does.
    std::shared_ptr<const engine::Model> load(const ModelChoiceRequest& request, const std::string& compute);
    void use(std::shared_ptr<const engine::Model> model, const ModelChoiceRequest& request,
             const std::string& compute);
    // Loads the model again if it has another product type than a new session gets. REQUIRES: no session is open.
    void use_for_new_session();
    // Loads the model that the session was begun with, by its file and product type. Throws Error if the file is
    // missing or contains another model.
    void use_for(const storage::SessionInfo& session);
    // If the session has lost its device, and so loaded its model on the CPU, uses that model from now on.
    void follow_device_loss(const storage::StoredSession& session);
    // Unloads the model of a lost device. The next model is loaded on the CPU.
    void unload_lost_device();

private:
    bool has_products(const std::string& compute) const;

    CommandLoop& loop_;
    FramePublisher& frames_;
    Changed changed_;

    mutable std::mutex mutex_; // guards shared_model_ and template_has_system_prompt_
    std::shared_ptr<const engine::Model> shared_model_;
    bool template_has_system_prompt_ = true;

    // Used by the engine thread only.
    ModelChoiceRequest request_;
    std::shared_ptr<const engine::Model> model_;
    std::string compute_ = default_compute(); // the product type with which model_ was requested
};

} // namespace palimpsest::ui
