// Shows the result of a search of the library: a line that counts it, the hits, and how many documents are not
// indexed.
#pragma once

#include <QWidget>

#include "ui/library/library_reader.h"

class QLabel;
class QListView;
class QModelIndex;

namespace palimpsest::ui {

class NoticeBar;
class SearchModel;

class HitsPanel : public QWidget {
    Q_OBJECT
public:
    explicit HitsPanel(QWidget* parent = nullptr);

    void begin(); // removes the hits of the search before
    void add(const std::vector<SearchHit>& hits);
    void show_progress(const SearchProgress& progress);
    void fail(); // a running search has failed; no effect if none runs

    bool has_hits() const;
    // Whether the user has asked to index documents that the last search left out.
    bool waits_for_index() const { return index_asked_ && unindexed_ > 0; }
    void open_current(); // else the first
    void focus_hits();

Q_SIGNALS:
    void hit_activated(const palimpsest::ui::SearchHit& hit); // by Enter or one click
    void index_wanted();
    void left_upwards(); // by the Up key

private:
    void open(const QModelIndex& index);

    SearchModel* hits_;
    QLabel* title_;
    QListView* list_;
    NoticeBar* index_bar_;
    uint64_t unindexed_ = 0; // documents, as last said
    bool is_searching_ = false, index_asked_ = false;
};

} // namespace palimpsest::ui
