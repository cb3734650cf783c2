// The document page: text, actions for a selection, find, go to, and the time bar.
#pragma once

#include <QWidget>
#include <memory>
#include <vector>

#include "storage/conversations.h"
#include "ui/document/document_view.h"

class QAction;
class QLabel;

namespace palimpsest::ui {

class CopyBar;
class FindBar;
class TimeBar;

// The cost of a pinned token.
struct PinTerms {
    int32_t budget = 0;           // tokens per layer and KV head
    uint64_t bytes_per_token = 0; // of keys and values in the cache, over all layers and heads
};

struct PinPrice {
    uint64_t tokens = 0, bytes = 0;
    double budget_share = 0, held_share = 0;
};
PinPrice pin_price(StreamRange range, const PinTerms& terms, const engine::RetentionMap* kept);

class DocumentPage : public QWidget {
    Q_OBJECT
public:
    explicit DocumentPage(QWidget* parent = nullptr);

    // Null: no text is open. Pins and highlights stay as set.
    void set_source(std::shared_ptr<TextSource> source);
    void set_kept(std::shared_ptr<const engine::RetentionMap> kept);
    void set_pins(const std::vector<storage::Pin>& pins);
    void set_pin_terms(const PinTerms& terms);
    void set_shades(ShadeColors colors);
    // `note`: a sentence about all highlights, shown above the text.
    void set_highlights(std::vector<Highlight> highlights, const QString& note);
    void show_range(StreamRange range); // also moves the time bar to the newest state
    // Like show_range(), for matches that another area found (ascending, at least one): they stay marked, the first
    // as the current one, until other matches are set. Closes the find bar.
    void show_matches(const std::vector<StreamRange>& matches);
    // Sets the fade record of the session. A worker thread builds its index, unless the shown index is of the same
    // record. A record without `read` disables the time bar.
    void set_fade_record(FadeRecord record, int32_t layers, int32_t chunk);

    DocumentView* view() const { return view_; }
    FindBar* find_bar() const { return find_; }
    CopyBar* copy_bar() const { return copying_; }
    TimeBar* time_bar() const { return time_; }
    QAction* pin_action() const { return pin_; }
    QString price_text() const; // price of pinning the selection; empty without a selection

Q_SIGNALS:
    void pin_wanted(palimpsest::ui::StreamRange range, const QString& label);
    void unpin_wanted(palimpsest::ui::StreamRange range);
    void token_pointed(quint64 token);
    void failed(const QString& sentence);

private:
    void make_actions();
    QWidget* make_header();
    QWidget* make_highlights_note();
    QWidget* make_selection_bar();
    QAction* add_action(const QString& text, const QKeySequence& keys, std::function<void()> work);
    void selection_changed();
    void place_changed();
    void show_menu(QPoint global);
    void open_find();
    void open_go_to();
    void pin();
    const storage::Pin* pin_at(uint64_t token) const;
    QString passage_label(StreamRange range) const;

    DocumentView* view_;
    FindBar* find_;
    CopyBar* copying_;
    TimeBar* time_;
    FadeRecordLoader* fade_loader_;
    std::shared_ptr<TextSource> source_;
    std::vector<storage::Pin> pins_;
    PinTerms terms_;
    QWidget* selection_bar_ = nullptr;
    QLabel* price_ = nullptr;
    QLabel* highlights_note_ = nullptr;
    QLabel* heading_ = nullptr; // elided when painted
    QWidget* legend_ = nullptr;
    QAction* pin_ = nullptr;
    QAction* unpin_ = nullptr;
    QAction* copy_ = nullptr;
    QAction* find_action_ = nullptr;
    QAction* go_to_ = nullptr;
    QAction* shade_ = nullptr;
    QAction* underline_ = nullptr;
};

} // namespace palimpsest::ui
