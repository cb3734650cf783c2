#include "ui/chat/question_field.h"

#include <QKeyEvent>
#include <QMimeData>
#include <QTextDocument>
#include <QTextOption>
#include <QUrl>
#include <algorithm>

#include "ui/chat/paragraph_layout.h"

namespace palimpsest::ui {
namespace {

constexpr int most_lines_shown = 8;
constexpr qsizetype most_remembered = 200;

bool is_long(const QString& text)
{
    if (text.size() > QuestionField::longest_paste) return true;
    return text.count(QLatin1Char('\n')) >= QuestionField::most_lines_pasted;
}

QStringList local_files(const QMimeData& source)
{
    QStringList files;
    for (const QUrl& url : source.urls())
        if (url.isLocalFile()) files += url.toLocalFile();
    return files;
}

} // namespace

QuestionField::QuestionField(QWidget* parent) : QPlainTextEdit(parent)
{
    auto* text = new QTextDocument(this);
    text->setDocumentLayout(new ParagraphLayout(text));
    text->setDefaultFont(font());
    QTextOption option = text->defaultTextOption();
    option.setTextDirection(Qt::LayoutDirectionAuto);
    text->setDefaultTextOption(option);
    setDocument(text);
    setAccessibleName(tr("Question"));
    setPlaceholderText(tr("Ask about this document…"));
    setTabChangesFocus(true);
    setLineWrapMode(QPlainTextEdit::WidgetWidth);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    connect(document()->documentLayout(), &QAbstractTextDocumentLayout::documentSizeChanged, this,
            &QuestionField::fit);
    connect(this, &QPlainTextEdit::textChanged, this, [this] {
        if (!recalling_) recalled_ = -1;
    });
    fit();
}

QVariant QuestionField::loadResource(int, const QUrl&)
{
    return {};
}

void QuestionField::remember(const QString& question)
{
    recalled_ = -1;
    history_.removeAll(question);
    history_ += question;
    while (history_.size() > most_remembered)
        history_.removeFirst();
}

void QuestionField::replace(const QString& text)
{
    QTextCursor cursor(document());
    cursor.select(QTextCursor::Document);
    cursor.insertText(text);
    moveCursor(QTextCursor::End);
}

bool QuestionField::recall(int by)
{
    const qsizetype from = recalled_ < 0 ? history_.size() : recalled_;
    const qsizetype to = from + by;
    if (to < 0 || to > history_.size() || (recalled_ < 0 && !document()->isEmpty())) return false;
    recalling_ = true;
    replace(to == history_.size() ? QString() : history_[to]);
    recalling_ = false;
    recalled_ = to == history_.size() ? -1 : to;
    return true;
}

void QuestionField::keyPressEvent(QKeyEvent* event)
{
    const Qt::KeyboardModifiers held = event->modifiers() & ~Qt::KeypadModifier;
    if (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter) {
        if (held == Qt::ControlModifier || (held == Qt::NoModifier && enter_sends_)) {
            Q_EMIT send_pressed();
            return;
        }
        // QPlainTextEdit would insert a line separator (U+2028) for Shift+Enter, which files do not use.
        insertPlainText(QStringLiteral("\n"));
        return;
    }
    if (event->key() == Qt::Key_Escape) {
        Q_EMIT stop_pressed();
        return;
    }
    const bool on_first = textCursor().blockNumber() == 0, on_last = textCursor().blockNumber() + 1 == blockCount();
    if (held == Qt::NoModifier && event->key() == Qt::Key_Up && on_first && recall(-1)) return;
    if (held == Qt::NoModifier && event->key() == Qt::Key_Down && on_last && recalled_ >= 0 && recall(1)) return;
    QPlainTextEdit::keyPressEvent(event);
}

bool QuestionField::canInsertFromMimeData(const QMimeData* source) const
{
    return source->hasText() || source->hasUrls();
}

void QuestionField::insertFromMimeData(const QMimeData* source)
{
    if (const QStringList files = local_files(*source); !files.isEmpty()) {
        Q_EMIT files_dropped(files);
        return;
    }
    const QString text = source->text();
    if (is_long(text))
        Q_EMIT text_pasted(text);
    else
        insertPlainText(text);
}

int QuestionField::height_of(int lines) const
{
    const int margin = static_cast<int>(2 * document()->documentMargin());
    return lines * fontMetrics().lineSpacing() + margin + 2 * frameWidth();
}

void QuestionField::fit()
{
    // The document size of a QPlainTextEdit is in lines, not pixels.
    const int wanted = static_cast<int>(document()->size().height());
    const int lines = std::clamp(wanted, 1, most_lines_shown);
    setVerticalScrollBarPolicy(wanted > lines ? Qt::ScrollBarAsNeeded : Qt::ScrollBarAlwaysOff);
    setFixedHeight(height_of(lines));
}

QSize QuestionField::sizeHint() const
{
    return {fontMetrics().averageCharWidth() * 60, height()};
}

QSize QuestionField::minimumSizeHint() const
{
    return {fontMetrics().averageCharWidth() * 12, height_of(1)};
}

void QuestionField::resizeEvent(QResizeEvent* event)
{
    QPlainTextEdit::resizeEvent(event);
    if (event->size().width() != event->oldSize().width()) fit();
}

void QuestionField::changeEvent(QEvent* event)
{
    QPlainTextEdit::changeEvent(event);
    if (event->type() == QEvent::FontChange || event->type() == QEvent::StyleChange) fit();
}

} // namespace palimpsest::ui
