#include "ui/chat/empty_chat.h"

#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

#include "ui/base/theme.h"
#include "ui/base/visible_text.h"
#include "ui/chat/question_button.h"

namespace palimpsest::ui {

EmptyChat::EmptyChat(QWidget* parent)
    : QScrollArea(parent), title_(new QLabel), what_(new QLabel), try_(new QLabel), open_(new QPushButton),
      sample_(new QPushButton), column_(new QVBoxLayout), questions_(new QVBoxLayout)
{
    setFrameShape(QFrame::NoFrame);
    setWidgetResizable(true);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setAccessibleName(tr("Start"));
    auto* page = new QWidget;
    page->setAutoFillBackground(true);
    page->setBackgroundRole(QPalette::Base);
    auto* across = new QHBoxLayout(page);
    auto* middle = new QWidget;
    middle->setMaximumWidth(fontMetrics().averageCharWidth() * 72);
    middle->setLayout(column_);
    across->addStretch(1);
    across->addWidget(middle, 8);
    across->addStretch(1);
    auto* buttons = new QHBoxLayout;
    buttons->addWidget(open_);
    buttons->addWidget(sample_);
    buttons->addStretch(1);
    column_->addStretch(1);
    for (QLabel* label : {title_, what_}) {
        label->setTextFormat(Qt::PlainText);
        label->setWordWrap(true);
        column_->addWidget(label);
    }
    column_->addSpacing(fontMetrics().height() / 2);
    column_->addLayout(buttons);
    column_->addSpacing(fontMetrics().height());
    column_->addWidget(try_);
    column_->addLayout(questions_);
    column_->addStretch(2);
    setWidget(page);
    connect(open_, &QPushButton::clicked, this, &EmptyChat::open_wanted);
    connect(sample_, &QPushButton::clicked, this, &EmptyChat::sample_wanted);
    try_->hide();
    update_texts();
    restyle();
}

void EmptyChat::set_document(const QString& title)
{
    document_ = visible_text(title);
    update_texts();
}

void EmptyChat::update_texts()
{
    const bool none = document_.isEmpty();
    title_->setText(none ? tr("Chat over a whole book") : tr("Ask about “%1”").arg(document_));
    what_->setText(
        none ? tr("Palimpsest reads a document of any length from the first word to the last, keeps within the "
                  "memory you give it, and shows what it still remembers. Nothing leaves this machine.")
             : tr("It is read from the first word to the last. You can ask while it is being read: "
                  "questions are answered from what was read so far, and again at the end."));
    open_->setText(none ? tr("&Open a document…") : tr("&Open another document…"));
    sample_->setText(tr("&Read the sample"));
    sample_->setVisible(none);
    try_->setText(kind_ == Questions::Samples ? tr("Try a question:") : tr("You could ask:"));
    open_->setAccessibleName(tr("Open a document"));
    sample_->setAccessibleName(tr("Read the sample"));
    open_->setDefault(none);
}

void EmptyChat::set_questions(const QStringList& questions, Questions kind)
{
    if (questions == asked_ && kind == kind_) return; // keeps the focus on a button
    asked_ = questions;
    kind_ = kind;
    update_texts();
    while (QLayoutItem* item = questions_->takeAt(0)) {
        delete item->widget();
        delete item;
    }
    for (const QString& question : questions) {
        auto* button = new QuestionButton(question);
        const auto chosen =
            kind == Questions::Samples ? &EmptyChat::question_chosen : &EmptyChat::question_suggested;
        connect(button, &QPushButton::clicked, this, [this, chosen, question] { Q_EMIT(this->*chosen)(question); });
        questions_->addWidget(button);
    }
    try_->setVisible(!questions.isEmpty());
}

void EmptyChat::restyle()
{
    QFont large = font();
    if (large.pointSizeF() > 0) large.setPointSizeF(large.pointSizeF() * 1.6);
    title_->setFont(large);
    QPalette quiet = palette();
    quiet.setColor(QPalette::Text, secondary_text(palette())); // the labels stand on QPalette::Base
    what_->setPalette(quiet);
    try_->setPalette(quiet);
}

void EmptyChat::changeEvent(QEvent* event)
{
    QScrollArea::changeEvent(event);
    if (event->type() == QEvent::FontChange || event->type() == QEvent::PaletteChange) restyle();
    if (event->type() == QEvent::LanguageChange) update_texts();
}

} // namespace palimpsest::ui
