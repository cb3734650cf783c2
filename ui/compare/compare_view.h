// Compares two to four policies on one text: the choices, the maps with a shared axis, curves of perplexity and
// overlap, and a table of results. The comparison runs on the engine thread.
//
// Keys: Ctrl+Return starts, Escape stops, Ctrl+C in the table copies it as CSV.
#pragma once

#include <QWidget>
#include <array>
#include <functional>
#include <memory>

#include "ui/base/file_writer.h"
#include "ui/compare/compare_map.h"
#include "ui/compare/compare_start.h"
#include "ui/engine/session_facts.h"

class QComboBox;
class QLabel;
class QLineEdit;
class QProgressBar;
class QPushButton;
class QSortFilterProxyModel;
class QSpinBox;
class QSplitter;
class QTableView;
class QVBoxLayout;

namespace palimpsest::ui {

class Chart;
class CompareTable;

class CompareView final : public QWidget {
    Q_OBJECT
public:
    // An empty `make_map`: no maps are shown.
    explicit CompareView(QWidget* parent = nullptr, MakeCompareMap make_map = make_retention_view);

    void set_model(const std::shared_ptr<const engine::Model>& model);    // does not keep it alive
    void set_session(std::shared_ptr<const SessionFacts> session);        // null: no session is open
    void set_file(const QString& file);                                   // used instead of the session's documents
    void set_choices(const std::vector<CompareRequest::Choice>& choices); // two to four
    CompareRequest request() const;                                       // the current choices

    void begin(); // call when a comparison is queued; clears the previous results
    void show_state(std::shared_ptr<const CompareState> state);
    void end(const QString& trouble = {}); // call when it has ended; trouble: error message or empty
    bool is_running() const { return running_; }
    const std::shared_ptr<const CompareState>& state() const { return state_; }

public Q_SLOTS:
    void start(); // emits start_wanted, or shows why it cannot start
    void stop();

Q_SIGNALS:
    void start_wanted(const palimpsest::ui::CompareRequest& request);
    void stop_wanted();
    void export_ended(const QString& file, const QString& trouble); // trouble: empty if the file was written

protected:
    void keyPressEvent(QKeyEvent* event) override;

private:
    struct Row {
        QWidget* widget;
        QComboBox* policy;
        QLineEdit* budget;
        QPushButton* remove;
        QLabel* trouble;
    };
    QWidget* make_setup();
    QWidget* make_row(int number);
    QWidget* make_results();
    QWidget* make_table();
    void choose_file();
    void add_row();
    void remove_row(int row);
    void show_rows(int count);
    bool check_rows(); // true: the engine accepts all rows
    void enable();
    void forget(); // clears the results
    void make_maps();
    void share_range(size_t from, double first, double last);
    void show_charts();
    void copy_csv();
    void choose_export();

    MakeCompareMap make_map_;
    std::weak_ptr<const engine::Model> model_;
    std::shared_ptr<const SessionFacts> session_;
    std::shared_ptr<const CompareState> state_;
    std::array<Row, most_contenders> rows_{};
    int row_count_ = fewest_contenders;
    bool running_ = false;

    QComboBox* source_;
    QSpinBox* chunk_;
    QPushButton *file_, *add_, *start_, *stop_, *copy_, *export_;
    QProgressBar* progress_;
    QLabel *left_, *trouble_, *nothing_;
    QSplitter* results_;
    QWidget* maps_area_;
    QVBoxLayout* maps_layout_;
    std::vector<CompareMap> maps_;
    std::vector<QLabel*> captions_; // of maps_, in the same order
    Chart *perplexity_, *overlap_;
    CompareTable* table_;
    QSortFilterProxyModel* sorted_;
    QTableView* table_view_;
    FileWriter files_;
};

} // namespace palimpsest::ui
