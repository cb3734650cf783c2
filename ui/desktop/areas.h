// Creates the areas of the window (chat, document, outline, map, memory, policy, comparison), and connects them
// with each other and with the engine.
#pragma once

#include <QObject>
#include <memory>

#include "engine/session/telemetry.h"
#include "ui/desktop/workbench.h"
#include "ui/document/document_view.h"

namespace palimpsest::ui {

class ChatPage;
class CompareControl;
class CompareView;
class DocumentPage;
class MemoryView;
class OutlinePage;
class PolicyPanel;
class RetentionView;

class Areas : public QObject {
    Q_OBJECT
public:
    using QObject::QObject;

    WindowAreas makers(); // functions that create the areas; the window owns the widgets
    // REQUIRES: the window was created with makers(). Once the workbench or its window is destroyed, this object
    // must not be used any more.
    void join(Workbench& bench);

    ChatPage* chat() const { return chat_; }
    DocumentPage* document() const { return document_; }
    OutlinePage* outline() const { return outline_; }
    RetentionView* map() const { return map_; }
    CompareView* compare() const { return compare_; }
    MemoryView* memory() const { return memory_; }
    PolicyPanel* policy() const { return policy_; }

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void join_chat();
    void join_questions();
    void join_document();
    void join_outline();
    void join_map();
    void join_policy();

    void show_frame(const Frame& frame);
    void show_session(std::shared_ptr<const SessionFacts> facts);
    void show_text();
    void show_text_of_unsaved();
    void show_pages(TextOutline outline, TextSource::OpenReader open);
    void show_past();
    void show_text_at(StreamRange range);
    void show_place(StreamRange range); // in the document and on the map
    void show_sources(const Turn& answer);
    void show_quote(const Turn& answer);
    void mark_sources(std::vector<Highlight> sources, const QString& note);
    void show_hit(const SearchHit& hit);
    bool reads(const SearchHit& hit) const;
    void show_found(const SearchHit& hit);
    void show_said(const SearchHit& hit);
    void offer_questions();
    void set_pin_terms(const engine::Telemetry& telemetry);
    void show_export_result(const QString& file, const QString& trouble);

    void read_pasted(const QString& text);
    QString describe(uint64_t token) const;
    QString place_name(StreamRange range) const;
    QString database() const; // path of the database, for other connections

    Workbench* bench_ = nullptr;
    ChatPage* chat_ = nullptr;
    DocumentPage* document_ = nullptr;
    OutlinePage* outline_ = nullptr;
    RetentionView* map_ = nullptr;
    CompareView* compare_ = nullptr;
    MemoryView* memory_ = nullptr;
    PolicyPanel* policy_ = nullptr;

    std::shared_ptr<const SessionFacts> facts_;
    std::shared_ptr<TextSource> text_;
    std::shared_ptr<const engine::RetentionMap> kept_;
    engine::Telemetry telemetry_;      // of the frame that brought `kept_`
    std::vector<StreamRange> sources_; // of an answer: highlighted in the document and on the map
    int64_t session_ = 0;              // id of the session that is shown
    uint64_t texts_asked_ = 0;         // number of the newest request for an unsaved session's text
    struct AwaitedHit {
        SearchHit hit;
        CommandId opening;
    };
    std::optional<AwaitedHit> awaited_; // a search hit to be shown once its session is open
};

} // namespace palimpsest::ui
