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
    quint64 count() const { return count_; }
    bool is_searching() const { return searching_; }

Q_SIGNALS:
    void matches_changed();
    void match_chosen(palimpsest::ui::StreamRange match);
    void closed();

protected:
    void keyPressEvent(QKeyEvent* event) override;

private:
    void search();
    void take(quint64 search, const std::vector<StreamRange>& matches, quint64 count, double share, bool finished);
    void choose(size_t index);
    void say();

    std::shared_ptr<TextSource> source_;
    QLineEdit* line_;
    QLabel* count_label_;
    QToolButton* next_;
    QToolButton* previous_;
    QTimer* typing_;
    quint64 number_ = 0; // of the search
    std::vector<StreamRange> matches_;
    std::optional<size_t> chosen_;
    quint64 count_ = 0;
    double share_ = 0;
    bool searching_ = false, jump_wanted_ = false;
    uint64_t place_ = 0;
};

} // namespace palimpsest::ui
