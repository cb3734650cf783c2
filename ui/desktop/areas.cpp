#include "ui/desktop/areas.h"

#include <QAction>
#include <QApplication>
#include <QLocale>
#include <QPointer>
#include <algorithm>

#include "engine/session/cache_bytes.h"
#include "storage/session/store.h"
#include "ui/base/quantity.h"
#include "ui/base/theme.h"
#include "ui/base/visible_text.h"
#include "ui/chat/chat_page.h"
#include "ui/chat/chat_view.h"
#include "ui/chat/composer.h"
#include "ui/chat/empty_chat.h"
#include "ui/chat/instructions.h"
#include "ui/chat/question_field.h"
#include "ui/compare/compare_control.h"
#include "ui/compare/compare_view.h"
#include "ui/desktop/link_question.h"
#include "ui/desktop/session_text.h"
#include "ui/document/document_page.h"
#include "ui/document/find_bar.h"
#include "ui/engine/tools.h"
#include "ui/map/colors.h"
#include "ui/map/lists.h"
#include "ui/map/view.h"
#include "ui/memory/memory_view.h"
#include "ui/outline/outline_page.h"
#include "ui/outline/suggested_questions.h"
#include "ui/policy/policy_panel.h"

namespace palimpsest::ui {
namespace {

// Returns the colours of the map, mixed with the background.
ShadeColors map_shades(const QPalette& palette, float strength)
{
    const RetentionColors& colors = RetentionColors::of(is_dark(palette));
    const QColor ground = palette.color(QPalette::Base);
    return [&colors, ground, strength](double share) {
        if (share <= 0) return ground;
        const QColor full = colors.of_share(share);
        const auto mix = [strength](float a, float b) { return a + (b - a) * strength; };
        return QColor::fromRgbF(mix(ground.redF(), full.redF()), mix(ground.greenF(), full.greenF()),
                                mix(ground.blueF(), full.blueF()));
    };
}

// So that text on them stays legible.
ShadeColors shades_below_text(const QPalette& palette)
{
    return map_shades(palette, is_dark(palette) ? 0.28F : 0.42F);
}

// For the bars of the outline, on which no text stands.
ShadeColors shades_of_bars(const QPalette& palette)
{
    return map_shades(palette, 0.7F);
}

std::vector<Highlight> highlights_of(const Provenance& provenance)
{
    std::vector<Highlight> highlights;
    for (const Provenance::Source& source : provenance.sources) {
        if (provenance.is_from_sources_alone) {
            highlights.push_back(
                {source.range, source.weight, Areas::tr("Read again; the answer was written from it")});
            continue;
        }
        const QString weight = QLocale().toString(source.weight * 100, 'f', 1);
        highlights.push_back(
            {source.range, source.weight,
             source.read_again
                 ? Areas::tr("%1 % of the answer's attention to the documents; read again for it").arg(weight)
                 : Areas::tr("%1 % of the answer's attention to the documents; %2 % of it is still held")
                       .arg(weight, QLocale().toString(source.held * 100, 'f', 0))});
    }
    return highlights;
}

bool is_computed(const SessionFacts* facts)
{
    return facts && facts->text_only.isEmpty();
}

FullCache full_cache_of(const SessionFacts* facts, const engine::Model* model)
{
    if (!is_computed(facts) || !model || !facts->options.kv_type) return {};
    return [config = model->config(), type = *facts->options.kv_type](uint64_t tokens) {
        return engine::cache_bytes(config, type, tokens);
    };
}

QString note_of(const Provenance& provenance)
{
    if (provenance.is_from_sources_alone)
        return Areas::tr(
            "The answer was written from what has a dotted line beside it, and from nothing else. This "
            "does not say whether the answer is right.");
    double weight = 0, held = 0;
    for (const Provenance::Source& source : provenance.sources) {
        weight += source.weight;
        held += source.weight * source.held;
    }
    if (weight <= 0) return {};
    return Areas::
        tr("What the answer rests on has a dotted line beside it. When it was given, %1 of that was still in the "
           "cache. This does not say whether the answer is right.")
            .arg(share_text(held / weight));
}

} // namespace

WindowAreas Areas::makers()
{
    return {.chat = [this](QWidget* parent) { return chat_ = new ChatPage(parent); },
            .document = [this](QWidget* parent) { return document_ = new DocumentPage(parent); },
            .outline = [this](QWidget* parent) { return outline_ = new OutlinePage(parent); },
            .compare = [this](QWidget* parent) { return compare_ = new CompareView(parent); },
            .map = [this](QWidget* parent) { return map_ = new RetentionView(parent); },
            .memory = [this](QWidget* parent) { return memory_ = new MemoryView(parent); },
            .policy = [this](QWidget* parent) { return policy_ = new PolicyPanel(parent); }};
}

void Areas::join(Workbench& bench)
{
    bench_ = &bench;
    connect(&bench, &Workbench::frame_shown, this,
            [this](const std::shared_ptr<const Frame>& frame) { show_frame(*frame); });
    connect(&bench, &Workbench::session_shown, this, &Areas::show_session);
    connect(&bench.engine(), &EngineThread::model_changed, this, [this] {
        policy_->set_model(bench_->engine().model());
        compare_->set_model(bench_->engine().model());
        chat_->instructions()->set_has_place(bench_->engine().has_place_for_system());
        show_text();
    });
    connect(&bench.window(), &MainWindow::hit_wanted, this, &Areas::show_hit);
    connect(&bench.engine(), &EngineThread::finished, this, [this](quint64 id) {
        if (awaited_ && awaited_->opening == id) awaited_.reset(); // the hit's session could not be opened
    });
    connect(&bench.window(), &MainWindow::preferences_changed, this, [this](const Preferences& preferences) {
        chat_->composer()->set_enter_sends(preferences.enter_sends);
        chat_->view()->set_reduced_motion(preferences.reduced_motion);
        policy_->set_defaults(preferences.new_session());
        chat_->instructions()->set_usual(preferences.system);
        offer_questions();
    });
    chat_->composer()->set_enter_sends(bench.window().preferences().enter_sends);
    chat_->view()->set_reduced_motion(bench.window().preferences().reduced_motion);
    policy_->set_defaults(bench.window().preferences().new_session());
    chat_->instructions()->set_usual(bench.window().preferences().system);
    join_chat();
    join_questions();
    join_document();
    join_outline();
    join_map();
    join_policy();
    new CompareControl(bench.engine(), *compare_, compare_); // owned by the widget, so destroyed with the window
    show_session(nullptr);
}

void Areas::join_chat()
{
    EngineThread* engine = &bench_->engine();
    MainWindow* window = &bench_->window();
    Composer* composer = chat_->composer();
    Instructions* instructions = chat_->instructions();
    connect(composer, &Composer::asked, instructions, &Instructions::commit); // must precede ask()
    connect(composer, &Composer::asked, bench_, &Workbench::ask);
    connect(instructions, &Instructions::drafted, bench_, &Workbench::set_next_system);
    connect(instructions, &Instructions::wanted, engine, &EngineThread::set_system);
    connect(composer, &Composer::branched, engine, &EngineThread::branch);
    connect(composer, &Composer::stop_wanted, engine, &EngineThread::stop);
    connect(composer, &Composer::cancel_wanted, engine, &EngineThread::cancel);
    connect(composer, &Composer::text_pasted, this, &Areas::read_pasted);
    connect(composer, &Composer::files_dropped, window, &MainWindow::open_paths);
    ChatView* view = chat_->view();
    view->set_place_name([this](StreamRange range) { return place_name(range); });
    connect(view, &ChatView::regenerate_wanted, engine, &EngineThread::regenerate);
    connect(view, &ChatView::place_wanted, this, &Areas::show_place);
    connect(view, &ChatView::sources_wanted, this, &Areas::show_sources);
    connect(view, &ChatView::quote_wanted, this, &Areas::show_quote);
    connect(view, &ChatView::link_activated, this,
            [window](const QString& address) { ask_about_link(window, address); });
    connect(chat_->start(), &EmptyChat::open_wanted, window->actions()[ActionId::OpenFiles], &QAction::trigger);
    connect(chat_->start(), &EmptyChat::sample_wanted, this,
            [window] { window->open_paths({window->places().sample}); });
    connect(window, &MainWindow::question_wanted, this,
            [this] { chat_->composer()->field()->setFocus(Qt::ShortcutFocusReason); });
}

void Areas::join_questions()
{
    const EngineThread* engine = &bench_->engine();
    connect(engine, &EngineThread::question_queued, chat_, &ChatPage::queue_question);
    connect(engine, &EngineThread::question_answered_early, chat_, &ChatPage::show_early_answer);
    connect(engine, &EngineThread::question_begun, chat_, &ChatPage::begin_question);
    connect(engine, &EngineThread::answer_finished, chat_, &ChatPage::end_question);
    connect(engine, &EngineThread::answer_finished, this, [this](quint64, const Turn& answer) {
        if (answer.provenance) mark_sources({}, {});
    });
    connect(engine, &EngineThread::failed, chat_, [this](quint64 id) { chat_->drop_question(id); });
    connect(engine, &EngineThread::finished, chat_, [this](quint64 id) { chat_->drop_question(id); });
}

void Areas::join_document()
{
    EngineThread* engine = &bench_->engine();
    connect(document_, &DocumentPage::pin_wanted, engine, &EngineThread::pin);
    connect(document_, &DocumentPage::unpin_wanted, engine, &EngineThread::unpin);
    connect(document_, &DocumentPage::token_pointed, map_, &RetentionView::move_to);
    connect(document_, &DocumentPage::failed, this,
            [this](const QString& sentence) { bench_->window().tell(MessageBar::Kind::Failure, sentence); });
    connect(&bench_->window(), &MainWindow::find_wanted, document_, [this] { document_->find_bar()->open({}); });
    document_->set_shades(shades_below_text(document_->palette()));
    document_->installEventFilter(this);
}

void Areas::join_outline()
{
    EngineThread* engine = &bench_->engine();
    connect(outline_, &OutlinePage::place_wanted, this, &Areas::show_place);
    connect(outline_, &OutlinePage::notes_wanted, engine, &EngineThread::write_notes);
    connect(outline_, &OutlinePage::open_wanted, bench_->window().actions()[ActionId::OpenFiles],
            &QAction::trigger);
    connect(engine, &EngineThread::note_written, outline_, &OutlinePage::add_note);
    outline_->set_shades(shades_of_bars(outline_->palette()));
    outline_->installEventFilter(this);
}

bool Areas::eventFilter(QObject* watched, QEvent* event)
{
    if (event->type() == QEvent::PaletteChange) {
        if (watched == document_) document_->set_shades(shades_below_text(document_->palette()));
        if (watched == outline_) outline_->set_shades(shades_of_bars(outline_->palette()));
    }
    return QObject::eventFilter(watched, event);
}

void Areas::join_map()
{
    map_->set_describe([this](uint64_t token) { return describe(token); });
    // A click on the map shows the text there. The map itself keeps the range that the user has chosen.
    connect(map_, &RetentionView::token_activated, this, [this](quint64 token) {
        show_text_at({token, token + 1});
    });
    connect(map_, &RetentionView::range_wanted, this, [this](const StreamRange& range) {
        show_place(range);
        document_->view()->select(range);
    });
    connect(&bench_->window(), &MainWindow::map_export_wanted, map_, &RetentionView::choose_export);
    connect(map_, &RetentionView::export_ended, this, &Areas::show_export_result);
    connect(compare_, &CompareView::export_ended, this, &Areas::show_export_result);
}

void Areas::show_export_result(const QString& file, const QString& trouble)
{
    if (trouble.isEmpty())
        bench_->window().tell(MessageBar::Kind::Note, tr("%1 was written.").arg(file));
    else
        bench_->window().tell(MessageBar::Kind::Failure, trouble);
}

void Areas::join_policy()
{
    connect(policy_, &PolicyPanel::apply_wanted, this, [this](const NewSession& request, bool from_the_start) {
        if (facts_ && facts_->text_only.isEmpty()) {
            bench_->engine().change_policy(request, from_the_start);
            return;
        }
        Preferences preferences = bench_->window().preferences();
        preferences.policy = request.policy;
        preferences.budget = request.budget;
        preferences.chunk = request.chunk;
        bench_->window().change_preferences(preferences);
    });
}

void Areas::show_frame(const Frame& frame)
{
    chat_->show_frame(frame);
    memory_->show_frame(frame);
    outline_->show_frame(frame);
    if (frame.kept != kept_) {
        kept_ = frame.kept;
        telemetry_ = frame.telemetry;
        map_->set_map(kept_, frame.tokens_total);
        map_->exporter().set_writers(writers_of(facts_, telemetry_));
        document_->set_kept(kept_);
        outline_->set_kept(kept_);
        if (facts_) set_pin_terms(frame.telemetry);
    }
}

void Areas::show_session(std::shared_ptr<const SessionFacts> facts)
{
    const bool is_another = (facts ? facts->id : 0) != session_;
    const bool was_computed = is_computed(facts_.get());
    facts_ = std::move(facts);
    session_ = facts_ ? facts_->id : 0;
    if (is_another || was_computed != is_computed(facts_.get()))
        memory_->begin(facts_ ? facts_->device : QString(),
                       full_cache_of(facts_.get(), bench_->engine().model().get()));
    if (is_another) {
        text_.reset();
        document_->set_source(nullptr);
        mark_sources({}, {});
    }
    chat_->show_session(facts_);
    outline_->show_session(facts_);
    const auto computed = is_computed(facts_.get()) ? facts_ : nullptr;
    policy_->set_session(computed);
    compare_->set_session(computed);
    map_->exporter().set_title(facts_ ? facts_->name : QString());
    map_->set_marks(facts_ ? marks_of(*facts_) : MapMarks());
    map_->exporter().set_writers(writers_of(facts_, telemetry_));
    document_->set_pins(facts_ ? facts_->pins : std::vector<storage::Pin>());
    map_->set_highlights(sources_); // set_marks() cleared them
    offer_questions();
    show_text();
    show_past();
    if (awaited_ && reads(awaited_->hit)) show_hit(std::exchange(awaited_, std::nullopt)->hit);
}

void Areas::offer_questions()
{
    EmptyChat* start = chat_->start();
    const bool has_document = facts_ && !facts_->documents.empty();
    start->set_document(has_document ? QString::fromStdString(facts_->documents.front().info.title) : QString());
    const bool is_read = has_document && facts_->tokens_read >= facts_->tokens_in_input;
    const bool is_shown = facts_ && facts_->turns.empty();
    if (is_read && is_shown && !facts_->notes.empty() && bench_->window().preferences().suggests_questions)
        if (const QStringList suggested = suggested_questions(outline_->model().rows()); !suggested.isEmpty())
            return start->set_questions(suggested, EmptyChat::Questions::Suggested);
    start->set_questions(has_document ? QStringList{tr("What is this text about?"), tr("Who is named in it?"),
                                                    tr("How does it end?")}
                                      : QStringList());
}

void Areas::show_text()
{
    if (!facts_) return document_->set_source(nullptr);
    if (!facts_->saved) return show_text_of_unsaved();
    const TextOutline outline = outline_of(*facts_);
    show_pages(outline, stored_pages(database(), outline, token_bytes(bench_->engine().model())));
}

// For the session already shown, keeps the scroll position and the loaded pages that are still right.
void Areas::show_pages(TextOutline outline, TextSource::OpenReader open)
{
    if (text_) return text_->set_outline(std::move(outline), std::move(open));
    text_ = std::make_shared<TextSource>(std::move(outline), std::move(open));
    document_->set_source(text_);
}

// The engine thread copies the text: only that thread may use the memory that holds the text of an unsaved session.
void Areas::show_text_of_unsaved()
{
    const uint64_t asked = ++texts_asked_;
    const QPointer<Areas> self(this);
    const TokenBytes bytes = token_bytes(bench_->engine().model());
    bench_->engine().run({}, [=](EngineThread::Tools& tools) {
        if (!tools.session) return;
        const auto texts = texts_of(*tools.session, tools.store, bytes);
        QMetaObject::invokeMethod(qApp, [=] {
            if (!self || self->texts_asked_ != asked || !self->facts_ || self->facts_->saved) return;
            const TextOutline outline = outline_of(*self->facts_);
            self->show_pages(outline, [=] { return std::make_unique<MemoryPages>(outline, texts); });
        });
    });
}

void Areas::show_past()
{
    if (!facts_ || !facts_->saved || facts_->layers == 0) return document_->set_fade_record({}, 0, 1);
    document_->set_fade_record(stored_fade_record(database(), facts_->id), facts_->layers, facts_->options.chunk);
}

void Areas::set_pin_terms(const engine::Telemetry& telemetry)
{
    const auto slots = static_cast<uint64_t>(std::max<int64_t>(telemetry.slots_capacity, 1));
    const auto lists = static_cast<uint64_t>(facts_->layers) * static_cast<uint64_t>(facts_->kv_heads);
    const auto model = bench_->engine().model();
    const bool is_full = facts_->options.budget == engine::no_budget && model;
    document_->set_pin_terms({.budget = is_full ? model->config().context : facts_->options.budget,
                              .bytes_per_token = telemetry.cache_bytes / slots * lists});
}

void Areas::show_text_at(StreamRange range)
{
    bench_->window().show_tab(Tab::Document);
    document_->show_range(range);
}

void Areas::show_place(StreamRange range)
{
    show_text_at(range);
    map_->show_tokens(range);
}

void Areas::show_sources(const Turn& answer)
{
    if (!answer.provenance || answer.provenance->sources.empty()) return;
    mark_sources(highlights_of(*answer.provenance), note_of(*answer.provenance));
    bench_->window().show_tab(Tab::Document);
    document_->show_range(sources_.front());
}

void Areas::show_quote(const Turn& answer)
{
    if (!answer.provenance || !answer.provenance->quote) return;
    const StreamRange range = answer.provenance->quote->range;
    mark_sources({{range, 1, tr("The sentence that supports the answer best")}}, {});
    bench_->window().show_tab(Tab::Document);
    document_->show_range(range);
}

void Areas::mark_sources(std::vector<Highlight> sources, const QString& note)
{
    sources_.clear();
    for (const Highlight& source : sources)
        sources_.push_back(source.range);
    document_->set_highlights(std::move(sources), note);
    map_->set_highlights(sources_);
}

void Areas::show_hit(const SearchHit& hit)
{
    if (reads(hit)) return hit.document != 0 ? show_found(hit) : show_said(hit);
    const bool is_awaited = awaited_ && hit.session.isEmpty() && awaited_->hit.document == hit.document;
    if (is_awaited) return void(awaited_->hit = hit); // its document is being read already
    awaited_ = {hit, hit.session.isEmpty() ? bench_->begin_session_about(hit.document)
                                           : bench_->engine().open_session(hit.session)};
}

// Whether the open session contains the hit. Ids of an unsaved session are unrelated to the library's.
bool Areas::reads(const SearchHit& hit) const
{
    if (!facts_ || !facts_->saved) return false;
    if (hit.document == 0) return facts_->id == hit.session_id;
    return std::ranges::any_of(facts_->documents,
                               [&](const DocumentPart& part) { return part.info.id == hit.document; });
}

// Marks the words of a passage.
void Areas::show_found(const SearchHit& hit)
{
    bench_->window().show_tab(Tab::Document);
    const auto words = std::make_shared<std::vector<StreamRange>>();
    for (const ByteRange& bytes : hit.found)
        text_->locate(hit.document, bytes, this, [this, words, count = hit.found.size()](StreamRange word) {
            words->push_back(word);
            if (words->size() < count) return;
            document_->show_matches(*words);
            map_->show_tokens({words->front().first, words->back().last});
        });
}

// Shows a message. A turn shows the newest answer to its question; the older ones are its earlier versions.
void Areas::show_said(const SearchHit& hit)
{
    bench_->window().show_tab(Tab::Chat);
    const auto turn_of = [this](int64_t message) {
        const auto at = std::ranges::find(facts_->turns, message, &Turn::message);
        return at == facts_->turns.end() ? -1 : static_cast<int>(at - facts_->turns.begin());
    };
    const int stands_for = turn_of(hit.newer == 0 ? hit.message : hit.parent);
    const int turn = stands_for + (hit.newer == 0 ? 0 : 1);
    ChatView* view = chat_->view();
    if (stands_for < 0 || turn >= std::min(view->turns().count(), static_cast<int>(facts_->turns.size()))) return;
    for (size_t n = 0; n < facts_->turns[static_cast<size_t>(turn)].earlier.size(); ++n)
        view->perform(turn, TurnAction::Later);
    for (int n = 0; n < hit.newer; ++n)
        view->perform(turn, TurnAction::Earlier);
    view->set_current_turn(turn);
}

void Areas::read_pasted(const QString& text)
{
    const QString title = text.trimmed().section(u'\n', 0, 0).left(60).trimmed();
    bench_->engine().read_text(title.isEmpty() ? tr("Pasted text") : title, text, bench_->new_session());
}

QString Areas::place_name(StreamRange range) const
{
    if (!text_ || range.first >= text_->tokens()) return {};
    return text_->outline().place_name(range);
}

// Describes a token: its text, if its text page is loaded, and its heading. Requests a missing page, but never
// waits for it.
QString Areas::describe(uint64_t token) const
{
    if (!text_ || token >= text_->tokens()) return {};
    QStringList parts;
    if (const auto page = text_->page(token)) {
        const std::string_view bytes = page->characters(token);
        parts << QStringLiteral("“%1”").arg(
            visible_text(QString::fromUtf8(bytes.data(), static_cast<qsizetype>(bytes.size()))));
    }
    if (const QString place = text_->outline().place_name(token); !place.isEmpty()) parts << place;
    return parts.join(QStringLiteral(" · "));
}

QString Areas::database() const
{
    return QString::fromStdString(storage::database_file(bench_->engine().database().toStdString()));
}

} // namespace palimpsest::ui
