// The functions of EngineThread: most queue a command for the worker.
#include "ui/engine/engine_thread.h"
#include "ui/engine/worker.h"

#include <QFileInfo>

namespace palimpsest::ui {

EngineThread::EngineThread(const QString& database, QObject* parent)
    : QObject(parent), worker_(std::make_unique<Worker>(*this, database))
{
}

EngineThread::~EngineThread() = default;

const QString& EngineThread::database() const
{
    return worker_->database();
}

std::shared_ptr<const engine::Model> EngineThread::model() const
{
    return worker_->shared_model();
}

bool EngineThread::has_place_for_system() const
{
    return worker_->template_has_system_prompt();
}

std::shared_ptr<const Frame> EngineThread::frame()
{
    return worker_->take_frame();
}

CommandId EngineThread::load_model(const ModelChoiceRequest& request)
{
    return worker_->add(Activity::LoadingModel, request.model, [=](Worker& worker) { worker.load_model(request); });
}

CommandId EngineThread::begin_session(const NewSession& request, const QStringList& files)
{
    return worker_->add(Activity::Opening, request.name,
                        [=](Worker& worker) { worker.begin_session(request, files); });
}

CommandId EngineThread::begin_session_about(const std::vector<int64_t>& documents, const NewSession& request)
{
    return worker_->add(Activity::Opening, request.name,
                        [=](Worker& worker) { worker.begin_session_about(documents, request); });
}

CommandId EngineThread::open_session(const QString& name)
{
    return worker_->add(Activity::Opening, name, [=](Worker& worker) { worker.open_session(name); });
}

CommandId EngineThread::close_session()
{
    return worker_->add(Activity::Saving, {}, [](Worker& worker) { worker.close_session(); });
}

CommandId EngineThread::read_files(const QStringList& files)
{
    return worker_->add(Activity::Reading, files.value(0), [=](Worker& worker) { worker.read_files(files); });
}

CommandId EngineThread::read_on()
{
    return worker_->add(Activity::Reading, {}, [](Worker& worker) { worker.read_on(); });
}

CommandId EngineThread::read_text(const QString& title, const QString& text, const NewSession& otherwise)
{
    return worker_->add(Activity::Reading, title,
                        [=](Worker& worker) { worker.read_text(title, text, otherwise); });
}

CommandId EngineThread::ask(const QString& text, const NewSession& otherwise)
{
    return worker_->ask(text, otherwise);
}

CommandId EngineThread::regenerate()
{
    return worker_->add(Activity::Answering, {}, [](Worker& worker) { worker.regenerate(); });
}

CommandId EngineThread::branch(int64_t message, const QString& text)
{
    return worker_->add(Activity::Answering, text, [=](Worker& worker) { worker.branch(message, text); });
}

CommandId EngineThread::undo()
{
    return worker_->add(Activity::Opening, {}, [](Worker& worker) { worker.undo(); });
}

CommandId EngineThread::set_system(const QString& system)
{
    return worker_->add(Activity::Saving, {}, [=](Worker& worker) { worker.set_system(system); });
}

CommandId EngineThread::write_notes()
{
    return worker_->add(Activity::WritingNotes, {}, [](Worker& worker) { worker.write_notes(); });
}

CommandId EngineThread::store_turns()
{
    return worker_->add(Activity::Saving, {}, [](Worker& worker) { worker.store_turns(); });
}

CommandId EngineThread::pin(StreamRange range, const QString& label)
{
    return worker_->add(Activity::Saving, label, [=](Worker& worker) { worker.pin(range, label); });
}

CommandId EngineThread::unpin(StreamRange range)
{
    return worker_->add(Activity::Saving, {}, [=](Worker& worker) { worker.unpin(range); });
}

CommandId EngineThread::change_policy(const NewSession& request, bool from_the_start)
{
    return worker_->add(from_the_start ? Activity::Reading : Activity::Opening, request.policy,
                        [=](Worker& worker) { worker.change_policy(request, from_the_start); });
}

CommandId EngineThread::export_session(const QString& name, const QString& file)
{
    return worker_->add_library_command([=](LibraryCommands& library) { library.export_session(name, file); });
}

CommandId EngineThread::import_session(const QString& file)
{
    return worker_->add_library_command([=](LibraryCommands& library) { library.import_session(file); });
}

CommandId EngineThread::open_export(const QString& file)
{
    return worker_->add(Activity::Opening, QFileInfo(file).completeBaseName(),
                        [=](Worker& worker) { worker.open_export(file); });
}

CommandId EngineThread::rename_session(const QString& name, const QString& to)
{
    return worker_->add_library_command([=](LibraryCommands& library) { library.rename_session(name, to); }, name);
}

CommandId EngineThread::fork_session(const QString& name, const QString& to)
{
    return worker_->add_library_command([=](LibraryCommands& library) { library.fork_session(name, to); });
}

CommandId EngineThread::remove_session(const QString& name)
{
    return worker_->add_library_command([=](LibraryCommands& library) { library.remove_session(name); }, name);
}

CommandId EngineThread::add_to_library(const QStringList& paths)
{
    return worker_->add(Activity::Storing, paths.value(0), [=](Worker& worker) { worker.add_to_library(paths); });
}

CommandId EngineThread::keep(const std::vector<int64_t>& documents)
{
    return worker_->add_library_command([=](LibraryCommands& library) { library.keep(documents); });
}

CommandId EngineThread::stop_keeping(const std::vector<int64_t>& documents)
{
    return worker_->add_library_command([=](LibraryCommands& library) { library.stop_keeping(documents); });
}

CommandId EngineThread::index_documents()
{
    return worker_->add(Activity::Indexing, {}, [](Worker& worker) { worker.index_documents(); });
}

CommandId EngineThread::run(const QString& what, std::function<void(Tools&)> work)
{
    return worker_->add(Activity::Reading, what, [work = std::move(work)](Worker& worker) { worker.run(work); });
}

void EngineThread::stop()
{
    worker_->queue().stop_running();
}

void EngineThread::cancel(CommandId id)
{
    if (worker_->queue().cancel(id)) Q_EMIT finished(id, true);
}

void EngineThread::cancel_all()
{
    for (const CommandId id : worker_->queue().cancel_all())
        Q_EMIT finished(id, true);
}

bool EngineThread::is_idle() const
{
    return worker_->queue().is_idle();
}

void EngineThread::set_sampling(const engine::SamplerOptions& sampling, int max_tokens)
{
    worker_->sampling().set(sampling, max_tokens);
}

void EngineThread::set_rereads(bool rereads)
{
    worker_->sampling().set_rereads(rereads);
}

void EngineThread::set_answers_from_sentences(bool from_sentences)
{
    worker_->sampling().set_answers_from_sentences(from_sentences);
}

void EngineThread::set_writes_notes(bool writes_notes)
{
    worker_->sampling().set_writes_notes(writes_notes);
}

} // namespace palimpsest::ui
