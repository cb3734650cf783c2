// Plain-text field for a question; its height grows with its lines up to a limit.
//
// Pasted or dropped files and long texts are not inserted but reported by signals, so that pasting a long text
// costs no more than counting its lines.
#pragma once

#include <QPlainTextEdit>
#include <QStringList>

namespace palimpsest::ui {

class QuestionField : public QPlainTextEdit {
    Q_OBJECT
public:
    static constexpr qsizetype longest_paste = 20000; // UTF-16 units
    static constexpr int most_lines_pasted = 200;

    explicit QuestionField(QWidget* parent = nullptr);

    void set_enter_sends(bool sends) { enter_sends_ = sends; } // false: only Ctrl+Enter sends
    void remember(const QString& question);                    // recalled by Up in an empty field
    void replace(const QString& text);                         // as one undo step

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;
    QVariant loadResource(int type, const QUrl& name) override; // always empty: nothing is loaded

Q_SIGNALS:
    void send_pressed();
    void stop_pressed();
    void text_pasted(const QString& text);
    void files_dropped(const QStringList& files);

protected:
    void keyPressEvent(QKeyEvent* event) override;
    bool canInsertFromMimeData(const QMimeData* source) const override;
    void insertFromMimeData(const QMimeData* source) override;
    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    bool recall(int by);
    void fit();
    int height_of(int lines) const;

    QStringList history_; // oldest first
    qsizetype recalled_ = -1;
    bool enter_sends_ = true, recalling_ = false;
};

} // namespace palimpsest::ui
