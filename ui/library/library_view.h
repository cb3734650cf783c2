// The library panel: documents with their sessions, and a search for words in all of their text.
//
// The view only emits requests as signals. The engine thread carries them out, and the library then shows the
// result.
#pragma once

#include <QWidget>

#include "ui/library/library_model.h"
#include "ui/library/library_reader.h"
#include "ui/library/pending_removals.h"

class QMenu;
class QSortFilterProxyModel;
class QStackedWidget;
class QTimer;
class QTreeView;

namespace palimpsest::ui {

class HitsPanel;
class NoticeBar;
class SearchField;

class LibraryView : public QWidget {
    Q_OBJECT
public:
    struct Choice {
        QString database;
        int grace_ms = 8000; // time in which a removal can be undone
    };

    explicit LibraryView(const Choice& choice, QWidget* parent = nullptr);
    ~LibraryView() override;

    LibraryModel& model() { return *model_; }
    void refresh() { reader_.refresh(); }
    void set_open_session(const QString& name, bool computes);
    QString current_session() const;     // empty if none is selected
    void choose(const QString& session); // selects it in the tree
    void focus_search();
    void rename_current();
    void remove(const QString& session);
    void undo_removal();
    bool can_undo_removal() const { return removals_.newest() != 0; }
    void commit_removals() { removals_.commit(); } // called when the window closes
    void removal_failed() { removals_.give_up(); }
    void fill_menu(QMenu& menu, const QModelIndex& index); // what can be done with a session or document

Q_SIGNALS:
    void open_wanted(const QString& session);          // open it, and continue if it is unfinished
    void new_session_wanted(const QStringList& files); // reads these files; empty: without a document
    void files_dropped(const QStringList& files);      // of any type, and folders
    void session_about_wanted(qint64 document);        // a new one, which reads what is stored
    void keep_wanted(const std::vector<int64_t>& documents);
    void stop_keeping_wanted(const std::vector<int64_t>& documents); // delete them if no session has them
    void open_files_wanted();                                        // show a file dialog
    void rename_wanted(const QString& session, const QString& to);
    void remove_wanted(const QString& session); // after the time in which it could be undone
    void export_wanted(const QString& session);
    void import_wanted();
    void duplicate_wanted(const QString& session);
    void hit_activated(const palimpsest::ui::SearchHit& hit, const QString& text);
    void index_wanted(); // index the documents that are not indexed yet
    void current_changed();
    void failed(const palimpsest::ui::Failure& failure);

protected:
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dropEvent(QDropEvent* event) override;

private:
    void build();
    QWidget* build_tree();
    QWidget* build_empty();
    QWidget* build_footer();
    void connect_all();
    void show_contents(const std::shared_ptr<const LibraryContents>& contents);
    void expand_again();
    void choose_again(const QString& key, qint64 session);
    void search_changed(const QString& text);
    void search_texts();
    void arrange_pages();
    void update_page();
    void update_footer();
    void show_menu(const QPoint& at);
    void add_document_actions(QMenu& menu, const LibraryDocument& document);
    void ask_to_delete(const std::vector<int64_t>& documents, const QString& title);
    QModelIndex current() const; // index in model_, not in the proxy
    void activate(const QModelIndex& index);

    LibraryModel* model_;
    QSortFilterProxyModel* shown_;
    LibraryReader reader_;
    PendingRemovals removals_;
    QSet<QString> collapsed_; // KeyRole values
    bool read_once_ = false;

    SearchField* search_ = nullptr;
    QTimer* pause_ = nullptr; // delays the text search until typing pauses
    QStackedWidget* pages_ = nullptr;
    QTreeView* tree_ = nullptr;
    HitsPanel* found_ = nullptr;
    NoticeBar *go_on_bar_ = nullptr, *undo_bar_ = nullptr;
};

} // namespace palimpsest::ui
