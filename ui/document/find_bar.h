// Find in the text: a line, the count while it goes, next and previous.
#pragma once

#include <QWidget>
#include <memory>
#include <optional>
#include <vector>

#include "ui/document/text_source.h"

class QLabel;
class QLineEdit;
class QTimer;
class QToolButton;

namespace palimpsest::ui {

class FindBar : public QWidget {
    Q_OBJECT
public:
    explicit FindBar(QWidget* parent = nullptr);

    void set_source(std::shared_ptr<TextSource> source);
    void open(const QString& what); // shows it, with this text if it is not empty
    void close_bar();               // hides it and ends the search
    // From where next and previous go.
    void set_place(uint64_t token) { place_ = token; }
    void next();
    void previous();

    const std::vector<StreamRange>& matches() const { return matches_; }
    quint64 count() const { return found_.count; }
    QString words() const; // what it says of the search
    bool is_searching() const { return searching_; }

Q_SIGNALS:
    void matches_changed();
    void match_chosen(palimpsest::ui::StreamRange match);
    void closed(); // while it had the focus, which is free now

protected:
    bool event(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    void search();
    void take(const Finding& finding);
    void choose(size_t index);
    void say();

    std::shared_ptr<TextSource> source_;
    QLineEdit* line_;
    QLabel* count_label_;
    QToolButton* next_;
    QToolButton* previous_;
    QTimer* typing_;
    std::vector<StreamRange> matches_; // all so far
    Finding found_;                    // what was told last, but for its matches
    std::optional<size_t> chosen_;
    bool searching_ = false, jump_wanted_ = false;
    uint64_t place_ = 0;
};

} // namespace palimpsest::ui
