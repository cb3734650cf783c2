// The find bar: a text field, the number of matches while the search runs, next and previous.
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
    void open(const QString& what); // shows the bar; sets the text if it is not empty
    void close_bar();               // hides the bar and ends the search
    // Sets the token from which next() and previous() search.
    void set_place(uint64_t token) { place_ = token; }
    void next();
    void previous();

    const std::vector<StreamRange>& matches() const { return matches_; }
    quint64 count() const { return found_.count; }
    QString words() const; // the status text
    bool is_searching() const { return searching_; }

Q_SIGNALS:
    void matches_changed();
    void match_chosen(palimpsest::ui::StreamRange match);
    void closed(); // emitted if the bar had the focus

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
    std::vector<StreamRange> matches_; // all found so far
    Finding found_;                    // the last report, without its matches
    std::optional<size_t> chosen_;
    bool searching_ = false, jump_wanted_ = false;
    uint64_t place_ = 0;
};

} // namespace palimpsest::ui
