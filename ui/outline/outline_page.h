// The outline page: the sections of the open session with their notes, and what can be done with them; or, if no
// document is open, what the page is for.
#pragma once

#include <QWidget>
#include <memory>

#include "ui/engine/frame.h"
#include "ui/outline/outline_model.h"

class QLabel;
class QPushButton;
class QStackedWidget;

namespace palimpsest::ui {

class OutlineView;

class OutlinePage : public QWidget {
    Q_OBJECT
public:
    explicit OutlinePage(QWidget* parent = nullptr);

    OutlineView* view() const { return view_; }
    OutlineModel& model() { return *model_; }
    QPushButton* write_button() const { return write_; }

    // Null: no session is open. Makes the rows anew only if they are others than before.
    void show_session(std::shared_ptr<const SessionFacts> facts);
    void show_frame(const Frame& frame);
    void set_kept(std::shared_ptr<const engine::RetentionMap> kept); // null: unknown
    void set_shades(const ShadeColors& colors);

public Q_SLOTS:
    void add_note(const palimpsest::storage::Note& note);

Q_SIGNALS:
    void place_wanted(palimpsest::ui::StreamRange range);
    void notes_wanted(); // write the missing ones
    void open_wanted();  // a document

protected:
    void changeEvent(QEvent* event) override;

private:
    QWidget* make_empty_page();
    QWidget* make_header();
    void update_rows(std::shared_ptr<const SessionFacts> facts);
    void update_header();
    void restyle();

    OutlineModel* model_;
    OutlineView* view_;
    QStackedWidget* pages_;
    QLabel *heading_, *what_for_, *count_;
    QPushButton *open_, *write_, *copy_all_;
    std::shared_ptr<const SessionFacts> made_of_; // the model's rows; null: of others, or notes were added
    bool can_write_ = false;                      // the session has a model
    bool has_unknown_ = false;                    // a document whose sections are known once it is indexed
    bool is_writing_ = false, is_reading_ = false;
    // Of the stream: as the session's facts say, and as the retained-token map says, which is newer while a
    // document is read, but leaves out tokens that wait for their chunk.
    uint64_t tokens_read_ = 0, tokens_computed_ = 0;
};

} // namespace palimpsest::ui
