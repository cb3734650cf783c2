#include "ui/chat/chat_page.h"

#include <QStackedWidget>
#include <QVBoxLayout>
#include <utility>

#include "ui/chat/chat_view.h"
#include "ui/chat/composer.h"
#include "ui/chat/empty_chat.h"
#include "ui/chat/instructions.h"

namespace palimpsest::ui {

ChatPage::ChatPage(QWidget* parent)
    : QWidget(parent), pages_(new QStackedWidget(this)), view_(new ChatView), composer_(new Composer),
      start_(new EmptyChat), instructions_(new Instructions)
{
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addWidget(instructions_);
    pages_->addWidget(start_);
    pages_->addWidget(view_);
    column->addWidget(pages_, 1);
    column->addWidget(composer_);
    setFocusProxy(composer_);
    connect(view_, &ChatView::turns_changed, this, &ChatPage::choose_page);
    connect(view_, &ChatView::branch_wanted, composer_, &Composer::edit_question);
    connect(start_, &EmptyChat::question_chosen, composer_, &Composer::asked);
    connect(start_, &EmptyChat::question_suggested, composer_, &Composer::set_question);
}

void ChatPage::choose_page()
{
    pages_->setCurrentWidget(view_->turns().count() > 0 ? static_cast<QWidget*>(view_) : start_);
}

void ChatPage::show_session(const std::shared_ptr<const SessionFacts>& facts)
{
    if (running_ != 0 && facts && facts->id == session_) {
        facts_later_ = facts;
        return;
    }
    running_ = 0;
    facts_later_.reset();
    session_ = facts ? facts->id : 0;
    view_->set_turns(facts ? facts->turns : std::vector<Turn>{});
    instructions_->show_session(facts.get());
    const bool has_document = facts && !facts->documents.empty();
    start_->set_document(has_document ? QString::fromStdString(facts->documents.front().info.title) : QString());
}

void ChatPage::show_frame(const Frame& frame)
{
    composer_->set_running(frame.activity != Activity::Idle && frame.activity != Activity::Saving);
    if (running_ != 0 && frame.activity == Activity::Answering) view_->grow_answer(frame.answer);
}

void ChatPage::queue_question(quint64 id, const QString& question)
{
    composer_->add_waiting(id, question);
}

void ChatPage::show_early_answer(quint64 id, const EarlyReply& reply)
{
    composer_->show_early_answer(id, reply);
}

void ChatPage::begin_question(quint64 id, const QString& question)
{
    running_ = id;
    view_->begin_answer(question);
    composer_->remove_waiting(id);
}

void ChatPage::end_question(quint64 id, const Turn& answer)
{
    if (id != running_) return;
    view_->end_answer(answer);
    end_running();
}

void ChatPage::drop_question(quint64 id)
{
    composer_->remove_waiting(id);
    if (id != running_) return;
    view_->abandon_answer();
    end_running();
}

void ChatPage::end_running()
{
    running_ = 0;
    if (const auto facts = std::exchange(facts_later_, nullptr)) show_session(facts);
}

} // namespace palimpsest::ui
