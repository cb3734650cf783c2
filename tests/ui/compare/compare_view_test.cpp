// The comparison view requests a comparison of the chosen policies and shows its results, here of the shipped
// model.

#include <QAbstractItemModelTester>
#include <QClipboard>
#include <QComboBox>
#include <QFile>
#include <QLabel>
#include <QLineEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QSignalSpy>
#include <QTableView>
#include <QTemporaryDir>
#include <QTest>

#include "engine/policy/named/registry.h"
#include "kernels/base/error.h"
#include "tests/support/project_folders.h"
#include "tests/ui/support/looks.h"
#include "ui/base/chart.h"
#include "ui/base/table_text.h"
#include "ui/compare/compare_table.h"
#include "ui/compare/compare_view.h"
#include "ui/map/view.h"

using namespace palimpsest;
using namespace palimpsest::ui;

namespace {

std::shared_ptr<SessionFacts> session_with_document()
{
    auto facts = std::make_shared<SessionFacts>();
    facts->name = QStringLiteral("Ashford");
    facts->tokens_in_input = 48'877;
    facts->documents.resize(2);
    facts->documents[0].info.id = 11;
    facts->documents[1].info.id = 12;
    return facts;
}

// Stands in for a map and records what it is given.
struct NotedMap : QWidget {
    using QWidget::QWidget;
    std::shared_ptr<const engine::RetentionMap> kept;
    uint64_t tokens = 0;
    std::pair<double, double> range;
    std::function<void(double, double)> changed;
};

CompareMap make_noted(QWidget* parent, bool)
{
    auto* map = new NotedMap(parent);
    return {
        .widget = map,
        .show =
            [map](std::shared_ptr<const engine::RetentionMap> kept, uint64_t tokens, const QString&) {
                map->kept = std::move(kept);
                map->tokens = tokens;
            },
        .show_range =
            [map](double first, double last) {
                map->range = {first, last};
            },
        .when_range_changes = [map](std::function<void(double, double)> told) { map->changed = std::move(told); }};
}

} // namespace

class CompareViewTest : public QObject {
    Q_OBJECT

    std::shared_ptr<const engine::Model> model_;
    std::vector<std::shared_ptr<const CompareState>> states_; // published by one comparison

    std::unique_ptr<CompareView> view_with_session(MakeCompareMap make_map = make_retention_view) const
    {
        auto view = std::make_unique<CompareView>(nullptr, std::move(make_map));
        view->set_model(model_);
        view->set_session(session_with_document());
        view->resize(view->fontMetrics().averageCharWidth() * 130, view->fontMetrics().height() * 48);
        view->show();
        return view;
    }

    static QStringList troubles(const QWidget& view)
    {
        QStringList shown;
        for (const QLabel* label : view.findChildren<QLabel*>())
            if (label->isVisible() && label->text().startsWith(QStringLiteral("⚠"))) shown << label->text().mid(2);
        return shown;
    }

    static QPushButton* button(const QWidget& view, const QString& text)
    {
        for (QPushButton* button : view.findChildren<QPushButton*>())
            if (button->text().remove(QLatin1Char('&')) == text) return button;
        return nullptr;
    }

private Q_SLOTS:
    void initTestCase()
    {
        QLocale::setDefault(QLocale(QLocale::English, QLocale::UnitedStates));
        model_ = engine::Model::load(tests::source_file("resources/default-model/palimpsest-small.gguf"),
                                     kernels::open_backend({"cpu", 1, ""}));
        QFile file(QString::fromStdString(tests::source_file("resources/samples/ashford-light.md")));
        QVERIFY(file.open(QIODevice::ReadOnly));
        const QByteArray text = file.read(6'000);
        CompareJob job{.what = "Ashford", .tokens = {}, .chunk = 64, .contenders = {}};
        job.tokens =
            model_->tokenizer()->encode(std::string_view(text.data(), static_cast<size_t>(text.size())), true);
        for (const char* spec : {"treekv", "streaming", "h2o", "lacache"}) {
            engine::SessionOptions options;
            options.policy = engine::PolicySpec::parse(spec);
            options.budget = 256;
            options.chunk = 64;
            job.contenders.push_back({spec, options});
        }
        compare(model_, job, {},
                [&](std::shared_ptr<const CompareState> state) { states_.push_back(std::move(state)); });
        QVERIFY(states_.back()->phase == CompareState::Phase::Finished);
    }

    void the_request_has_the_chosen_policies_and_text()
    {
        const auto view = view_with_session();
        view->set_choices({{QStringLiteral("treekv:sinks=8"), QStringLiteral("512")},
                           {QStringLiteral("h2o"), QStringLiteral("2%")},
                           {QStringLiteral("lacache"), {}}});
        QSignalSpy wanted(view.get(), &CompareView::start_wanted);
        button(*view, QStringLiteral("Start"))->click();
        QCOMPARE(wanted.count(), 1);
        const auto request = wanted[0][0].value<CompareRequest>();
        QCOMPARE(request.documents.size(), size_t{2});
        QCOMPARE(request.documents[0].id, int64_t{11});
        QCOMPARE(request.documents[1].id, int64_t{12});
        QVERIFY(request.file.isEmpty());
        QCOMPARE(request.choices.size(), size_t{3});
        QCOMPARE(request.choices[0].policy, QStringLiteral("treekv:sinks=8"));
        QCOMPARE(request.choices[1].budget, QStringLiteral("2%"));
        view->set_file(QStringLiteral("/books/moby.txt"));
        QCOMPARE(view->request().file, QStringLiteral("/books/moby.txt"));
        QCOMPARE(view->request().what, QStringLiteral("moby.txt"));
        QVERIFY(view->request().documents.empty());
    }

    void two_to_four_policies_can_be_chosen()
    {
        const auto view = view_with_session();
        QPushButton* add = button(*view, QStringLiteral("Add a policy"));
        add->click();
        add->click();
        QCOMPARE(view->request().choices.size(), size_t{4});
        QVERIFY(!add->isEnabled());
        view->set_choices(
            {{QStringLiteral("treekv"), {}}, {QStringLiteral("h2o"), {}}, {QStringLiteral("tova"), {}}});
        for (QPushButton* remove : view->findChildren<QPushButton*>())
            if (remove->accessibleName() == QStringLiteral("Remove policy 2")) remove->click();
        QCOMPARE(view->request().choices.size(), size_t{2});
        QCOMPARE(view->request().choices[1].policy, QStringLiteral("tova"));
        for (QPushButton* remove : view->findChildren<QPushButton*>())
            if (remove->accessibleName().startsWith(QStringLiteral("Remove"))) QVERIFY(!remove->isEnabled());
        const auto* policies = view->findChild<QComboBox*>(QStringLiteral("policy-0"));
        QCOMPARE(policies->count(), static_cast<int>(engine::policies().size()));
    }

    void choices_that_the_engine_refuses_are_not_started()
    {
        const auto view = view_with_session();
        QSignalSpy wanted(view.get(), &CompareView::start_wanted);
        view->set_choices({{QStringLiteral("treekv"), {}}, {QStringLiteral("treeekv"), {}}});
        QCOMPARE(troubles(*view).size(), 1);
        QVERIFY(troubles(*view)[0].contains(QStringLiteral("did you mean 'treekv'")));
        view->start();
        QVERIFY(wanted.isEmpty());
        view->set_choices({{QStringLiteral("treekv"), {}}, {QStringLiteral("h2o"), QStringLiteral("lots")}});
        view->start();
        QVERIFY(wanted.isEmpty());
        CompareView without;
        QSignalSpy nothing(&without, &CompareView::start_wanted);
        without.show();
        without.start();
        QVERIFY(nothing.isEmpty());
        QVERIFY(troubles(without)[0].contains(QStringLiteral("no text")));
    }

    void a_policy_that_will_stop_early_is_announced_before_the_start()
    {
        const auto view = view_with_session();
        QVERIFY(troubles(*view).isEmpty());
        view->set_choices(
            {{QStringLiteral("treekv"), QStringLiteral("256")}, {QStringLiteral("full"), QStringLiteral("256")}});
        QCOMPARE(troubles(*view).size(), 1);
        QVERIFY2(troubles(*view)[0].contains(QStringLiteral("only the first 256")), qPrintable(troubles(*view)[0]));
        QSignalSpy wanted(view.get(), &CompareView::start_wanted);
        view->start(); // the announcement does not prevent the start
        QCOMPARE(wanted.count(), 1);
    }

    void a_running_comparison_shows_progress_and_can_be_stopped()
    {
        const auto view = view_with_session();
        QSignalSpy stop(view.get(), &CompareView::stop_wanted);
        view->begin();
        QVERIFY(view->is_running());
        QVERIFY(!button(*view, QStringLiteral("Start"))->isVisible());
        view->show_state(states_.front());
        const auto* progress = view->findChild<QProgressBar*>();
        QVERIFY(progress->isVisible());
        QCOMPARE(progress->value(), static_cast<int>(1000 * states_.front()->share));
        QTest::keyClick(view.get(), Qt::Key_Escape);
        QCOMPARE(stop.count(), 1);
        view->end(QStringLiteral("the device was lost: open the model again"));
        QVERIFY(!view->is_running());
        QVERIFY(troubles(*view).contains(QStringLiteral("the device was lost: open the model again")));
        QTest::keyClick(view.get(), Qt::Key_Escape);
        QCOMPARE(stop.count(), 1);
    }

    // A comparison that is cancelled while it is queued shows no results of the previous one.
    void a_comparison_cancelled_in_the_queue_shows_no_old_results()
    {
        const auto view = view_with_session();
        auto stopped = std::make_shared<CompareState>(*states_.front());
        stopped->phase = CompareState::Phase::Stopped;
        view->begin();
        view->show_state(stopped);
        view->end();
        const auto* findings = view->findChild<Chart*>(QStringLiteral("perplexity"));
        QVERIFY(findings->isVisibleTo(view.get()));
        view->begin();
        view->end();
        QVERIFY(!view->state());
        QVERIFY(!findings->isVisibleTo(view.get()));
        QVERIFY(button(*view, QStringLiteral("Start"))->isVisible());
        for (const QLabel* label : view->findChildren<QLabel*>())
            QVERIFY2(!label->isVisible() || !label->text().contains(QLatin1String("stopped")),
                     qPrintable(label->text()));
        QVERIFY(view->findChildren<RetentionView*>().isEmpty());
        view->begin();
        view->show_state(states_.back());
        QCOMPARE(view->findChildren<RetentionView*>().size(), 4);
    }

    void an_exported_map_names_its_policy_and_text()
    {
        const auto view = view_with_session();
        view->show_state(states_.back());
        QSignalSpy ended(view.get(), &CompareView::export_ended);
        const QTemporaryDir folder;
        const QString name = folder.filePath(QStringLiteral("map.svg"));
        view->findChildren<RetentionView*>()[1]->save_as(name);
        view->begin(); // discards the map, but not its export
        EVENTUALLY_EQUAL(ended.count(), 1);
        QCOMPARE(ended.at(0).at(0).toString(), name);
        QFile file(name);
        QVERIFY(file.open(QIODevice::ReadOnly));
        const QByteArray svg = file.readAll();
        QVERIFY(svg.contains("streaming") && svg.contains(QByteArray::fromStdString(states_.back()->what)));
    }

    void curves_and_table_show_the_results()
    {
        const auto view = view_with_session();
        for (const auto& state : states_)
            view->show_state(state);
        const CompareState& last = *states_.back();
        const std::array charts = {view->findChild<Chart*>(QStringLiteral("perplexity")),
                                   view->findChild<Chart*>(QStringLiteral("overlap"))};
        QCOMPARE(charts[0]->lines().size(), size_t{4});
        QCOMPARE(charts[1]->lines().size(), size_t{3});
        for (size_t i = 0; i < 4; ++i) {
            const auto& newest = last.results[i].steps.entries().back();
            QCOMPARE(charts[0]->lines()[i].points.back(),
                     QPointF(static_cast<double>(newest.tokens), last.results[i].loss.perplexity()));
            if (i > 0) QCOMPARE(charts[1]->lines()[i - 1].points.back().y(), last.overlaps[0][i]);
        }
        auto* table = view->findChild<QTableView*>();
        QCOMPARE(table->model()->rowCount(), 4);
        table->sortByColumn(CompareTable::Perplexity, Qt::AscendingOrder);
        double before = 0;
        for (int r = 0; r < 4; ++r) {
            const double perplexity = table->model()->index(r, CompareTable::Perplexity).data(RawRole).toDouble();
            QVERIFY(perplexity > before);
            before = perplexity;
        }
        button(*view, QStringLiteral("Copy as CSV"))->click();
        const QStringList lines =
            QGuiApplication::clipboard()->text().split(QStringLiteral("\r\n"), Qt::SkipEmptyParts);
        QCOMPARE(lines.size(), 5);
        QVERIFY(lines[0].startsWith(QStringLiteral("Policy,Budget,Perplexity,")));
        QCOMPARE(lines[1].split(QLatin1Char(','))[CompareTable::Perplexity].toDouble(),
                 table->model()->index(0, CompareTable::Perplexity).data(RawRole).toDouble());
    }

    void the_table_passes_the_item_model_tester()
    {
        CompareTable table;
        const QAbstractItemModelTester tester(&table, QAbstractItemModelTester::FailureReportingMode::QtTest);
        for (const auto& state : states_)
            table.show(state);
        QCOMPARE(table.rowCount(), 4);
        QCOMPARE(table.index(1, CompareTable::Overlap).data(RawRole).toDouble(), states_.back()->overlaps[0][1]);
        table.show(nullptr);
        QCOMPARE(table.rowCount(), 0);
    }

    void maps_share_one_axis()
    {
        const auto view = view_with_session(make_noted);
        view->show_state(states_.back());
        const auto maps = view->findChildren<QWidget*>();
        std::vector<NotedMap*> noted;
        for (QWidget* widget : maps)
            if (auto* map = dynamic_cast<NotedMap*>(widget)) noted.push_back(map);
        QCOMPARE(noted.size(), size_t{4});
        for (size_t i = 0; i < 4; ++i) {
            QCOMPARE(noted[i]->kept, states_.back()->results[i].kept);
            QCOMPARE(noted[i]->tokens, states_.back()->tokens_total);
            QVERIFY(noted[i]->accessibleName().contains(QString::fromStdString(states_.back()->results[i].spec)));
        }
        noted[1]->changed(100, 200);
        QCOMPARE(noted[0]->range, std::pair(100.0, 200.0));
        QCOMPARE(noted[3]->range, std::pair(100.0, 200.0));
        QCOMPARE(noted[1]->range, std::pair(0.0, 0.0));
    }

    void widgets_have_names_in_every_state()
    {
        const auto view = view_with_session();
        view->set_choices({{QStringLiteral("treekv"), QStringLiteral("256")},
                           {QStringLiteral("streaming"), QStringLiteral("256")},
                           {QStringLiteral("h2o"), QStringLiteral("256")},
                           {QStringLiteral("lacache"), QStringLiteral("256")}});
        test::keep_pictures(*view, QStringLiteral("compare-empty"));
        view->begin();
        view->show_state(states_[states_.size() / 2]);
        test::keep_pictures(*view, QStringLiteral("compare-running"));
        QCOMPARE(test::nameless(*view), QStringList());
        view->show_state(states_.back());
        view->end();
        test::keep_pictures(*view, QStringLiteral("compare-finished"));
        QCOMPARE(test::nameless(*view), QStringList());
    }
};

QTEST_MAIN(CompareViewTest)
#include "compare_view_test.moc"
