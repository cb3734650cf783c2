// The policy panel offers every policy and parameter of the engine, and refuses what the engine refuses, with the
// same sentence.

#include <QAbstractItemModelTester>
#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QMessageBox>
#include <QPushButton>
#include <QSignalSpy>
#include <QSpinBox>
#include <QTest>

#include "engine/policy/named/registry.h"
#include "engine/policy/policy.h"
#include "engine/session/session.h"
#include "kernels/base/error.h"
#include "tests/support/project_folders.h"
#include "tests/ui/support/looks.h"
#include "tests/ui/support/patience.h"
#include "ui/base/wording.h"
#include "ui/policy/parameter_field.h"
#include "ui/policy/policy_model.h"
#include "ui/policy/policy_panel.h"

using namespace palimpsest;
using namespace palimpsest::ui;

namespace {

QString text(const std::string& utf8)
{
    return QString::fromStdString(utf8);
}

std::shared_ptr<SessionFacts> session_with(const engine::Model& model, const engine::SessionOptions& options)
{
    const engine::Session session(std::shared_ptr<const engine::Model>(std::shared_ptr<void>(), &model), options);
    auto facts = std::make_shared<SessionFacts>();
    facts->id = 7;
    facts->name = QStringLiteral("Ashford");
    facts->layers = model.config().layers;
    facts->kv_heads = model.config().kv_heads;
    facts->options = session.options();
    facts->policy = text(session.options().policy.text());
    facts->tokens_in_input = 48'877;
    return facts;
}

} // namespace

class PolicyPanelTest : public QObject {
    Q_OBJECT

    std::shared_ptr<const engine::Model> model_;

    std::unique_ptr<PolicyPanel> panel_with_model() const
    {
        auto panel = std::make_unique<PolicyPanel>();
        panel->set_model(model_);
        panel->resize(panel->fontMetrics().averageCharWidth() * 60, panel->fontMetrics().height() * 50);
        panel->show();
        return panel;
    }

    static void choose(PolicyPanel& panel, const std::string& policy, const QString& budget = {}, int chunk = 512)
    {
        NewSession request;
        request.policy = text(policy);
        request.budget = budget;
        request.chunk = chunk;
        panel.set_request(request);
    }

    static QStringList troubles(const QWidget& panel)
    {
        QStringList shown;
        for (const QLabel* label : panel.findChildren<QLabel*>())
            if (!label->isHidden() && label->text().startsWith(QStringLiteral("⚠"))) shown << label->text().mid(2);
        return shown;
    }

private Q_SLOTS:
    void initTestCase()
    {
        QLocale::setDefault(QLocale(QLocale::English, QLocale::UnitedStates));
        model_ = engine::Model::load(tests::source_file("resources/default-model/palimpsest-small.gguf"),
                                     kernels::open_backend({"cpu", 1, ""}));
    }

    void the_model_lists_every_policy_with_its_sentence()
    {
        PolicyModel policies;
        const QAbstractItemModelTester tester(&policies, QAbstractItemModelTester::FailureReportingMode::QtTest);
        QCOMPARE(policies.rowCount(), static_cast<int>(engine::policies().size()));
        for (int r = 0; r < policies.rowCount(); ++r) {
            const engine::PolicyInfo& info = engine::policies()[static_cast<size_t>(r)];
            QCOMPARE(policies.index(r, 0).data().toString(), text(info.name));
            QCOMPARE(policies.index(r, 0).data(PolicyModel::KeepsRole).toString(), shown(info.keeps));
        }
    }

    void every_parameter_has_a_field_with_meaning_default_and_range()
    {
        const auto panel = panel_with_model();
        for (const engine::PolicyInfo& info : engine::policies()) {
            choose(*panel, info.name);
            const auto fields = panel->findChildren<ParameterField*>();
            QCOMPARE(fields.size(), static_cast<qsizetype>(info.parameters.size()));
            for (size_t i = 0; i < info.parameters.size(); ++i) {
                const engine::ParameterInfo& parameter = info.parameters[i];
                QCOMPARE(fields[static_cast<int>(i)]->key(), text(parameter.key));
                const auto* editor = panel->findChild<QWidget*>(QStringLiteral("parameter-") + text(parameter.key));
                QVERIFY(editor);
                for (const Text& part : {parameter.meaning, parameter.default_text, parameter.range})
                    QVERIFY2(editor->accessibleDescription().contains(shown(part)), part.english().c_str());
            }
            QVERIFY2(panel->check().good(), qPrintable(panel->check().sentence));
        }
    }

    void search_finds_by_name_paper_signal_and_parameter()
    {
        PolicyModel policies;
        PolicySearch search;
        search.setSourceModel(&policies);
        const QAbstractItemModelTester tester(&search, QAbstractItemModelTester::FailureReportingMode::QtTest);
        const auto found = [&](const QString& words) {
            search.search(words);
            QStringList names;
            for (int r = 0; r < search.rowCount(); ++r)
                names << search.index(r, 0).data().toString();
            return names;
        };
        QCOMPARE(found(QString()).size(), static_cast<qsizetype>(engine::policies().size()));
        QVERIFY(found(QStringLiteral("TREEKV")).contains(QStringLiteral("treekv-block")));
        QVERIFY(!found(QStringLiteral("treekv")).contains(QStringLiteral("lacache")));
        QVERIFY(found(QStringLiteral("span")).contains(QStringLiteral("lacache")));
        QVERIFY(found(QStringLiteral("no such words")).isEmpty());
    }

    void an_accepted_request_has_the_cache_and_options_of_its_session()
    {
        const auto panel = panel_with_model();
        for (const QString& budget :
             {QString(), QStringLiteral("512"), QStringLiteral("4MiB"), QStringLiteral("auto:256")}) {
            choose(*panel, "snapkv", budget, 128);
            QVERIFY2(panel->check().good(), qPrintable(panel->check().sentence));
            const auto options = session_options(panel->request(), model_->config(), {});
            const engine::Session session(model_, options);
            QCOMPARE(panel->check().cache_bytes, std::optional(session.telemetry().cache_bytes));
            QCOMPARE(panel->check().options->budget, session.options().budget);
            QVERIFY(panel->check().options->policy == session.options().policy);
        }
    }

    void a_budget_in_percent_has_a_size_once_the_input_length_is_known()
    {
        const auto panel = panel_with_model();
        choose(*panel, "treekv", QStringLiteral("1%"));
        QVERIFY(panel->check().good());
        QVERIFY(!panel->check().cache_bytes);
        panel->set_session(session_with(*model_, {}));
        choose(*panel, "treekv", QStringLiteral("1%"));
        QVERIFY(panel->check().cache_bytes);
        QCOMPARE(panel->check().options->budget, 488);
    }

    void a_bad_budget_is_refused_beside_its_field_with_the_sentence_of_the_engine()
    {
        const auto panel = panel_with_model();
        for (const QString& budget : {QStringLiteral("many"), QStringLiteral("0"), QStringLiteral("-3"),
                                      QStringLiteral("140%"), QStringLiteral("1MiB"), QStringLiteral("99999")}) {
            choose(*panel, "treekv", budget);
            QVERIFY2(!panel->check().good(), qPrintable(budget));
            QCOMPARE(panel->check().field, PolicyCheck::Field::Budget);
            QCOMPARE(troubles(*panel), QStringList(panel->check().sentence));
            QVERIFY(!panel->findChild<QPushButton*>(QStringLiteral("apply"))->isEnabled());
            try {
                engine::Session(model_,
                                session_options(panel->request(), model_->config(), model_->config().context));
                QFAIL("the engine takes it");
            } catch (const Error& error) {
                QCOMPARE(panel->check().sentence, field_sentence(error));
            }
        }
        choose(*panel, "treekv", QStringLiteral("512"));
        QVERIFY(troubles(*panel).isEmpty());
    }

    void a_bad_parameter_is_refused_beside_its_field()
    {
        const auto panel = panel_with_model();
        choose(*panel, "treekv", QStringLiteral("256"));
        auto* sinks = panel->findChild<QLineEdit*>(QStringLiteral("parameter-sinks"));
        QVERIFY(sinks);
        sinks->setText(QStringLiteral("many"));
        QCOMPARE(panel->check().field, PolicyCheck::Field::Parameter);
        QCOMPARE(panel->check().parameter, QStringLiteral("sinks"));
        QVERIFY(sinks->isVisible()); // the folded options open to show the field
        QCOMPARE(troubles(*panel), QStringList(panel->check().sentence));
        sinks->setText(QStringLiteral("1000"));
        QCOMPARE(panel->check().parameter, QStringLiteral("sinks"));
        sinks->setText(QStringLiteral("8"));
        QVERIFY(panel->check().good());
        QCOMPARE(panel->request().policy, QStringLiteral("treekv:sinks=8"));
    }

    void a_bad_chunk_is_refused_beside_its_field()
    {
        const auto panel = panel_with_model();
        choose(*panel, "treekv", {}, model_->config().context);
        QCOMPARE(panel->check().field, PolicyCheck::Field::Chunk);
        QCOMPARE(troubles(*panel).size(), 1);
    }

    void without_a_model_names_and_parameters_are_still_checked()
    {
        NewSession request;
        request.policy = QStringLiteral("treekv:leap=3");
        QVERIFY(!check_policy(request, nullptr, {}).good());
        request.policy = QStringLiteral("treekv:sinks=3");
        QVERIFY(check_policy(request, nullptr, {}).good());
        for (const engine::PolicyInfo& info : engine::policies()) {
            request.policy = text(info.name);
            QVERIFY2(check_policy(request, nullptr, {}).good(), info.name.c_str());
        }
    }

    void the_open_session_is_shown_without_default_parameters()
    {
        const auto panel = panel_with_model();
        engine::SessionOptions options;
        options.policy = engine::PolicySpec::parse("treekv:sinks=9");
        options.budget = 300;
        options.chunk = 64;
        panel->set_session(session_with(*model_, options));
        QCOMPARE(panel->request().policy, QStringLiteral("treekv:sinks=9"));
        QCOMPARE(panel->request().budget, QStringLiteral("300"));
        QCOMPARE(panel->request().chunk, 64);
        for (const engine::PolicyInfo& info : engine::policies()) {
            engine::SessionOptions plain;
            plain.policy.name = info.name;
            plain.budget = 256;
            const auto facts = session_with(*model_, plain);
            const auto shortest = shortest_spec(facts->options, facts->layers, facts->kv_heads);
            QCOMPARE(text(shortest.text()), text(info.name));
        }
    }

    void edits_are_kept_when_the_session_facts_are_published_again()
    {
        const auto panel = panel_with_model();
        const auto facts = session_with(*model_, {});
        panel->set_session(facts);
        panel->findChild<QLineEdit*>(QStringLiteral("budget"))->setText(QStringLiteral("77"));
        panel->set_session(facts);
        QCOMPARE(panel->request().budget, QStringLiteral("77"));
    }

    void without_a_session_the_panel_shows_the_defaults()
    {
        const auto panel = panel_with_model();
        NewSession defaults;
        defaults.policy = QStringLiteral("streaming");
        defaults.budget = QStringLiteral("600");
        defaults.chunk = 128;
        panel->set_defaults(defaults);
        const auto shows_defaults = [&] {
            return panel->request().policy == defaults.policy && panel->request().budget == defaults.budget &&
                   panel->request().chunk == defaults.chunk;
        };
        QVERIFY(shows_defaults());
        engine::SessionOptions options;
        options.policy = engine::PolicySpec::parse("treekv:sinks=9");
        panel->set_session(session_with(*model_, options));
        QCOMPARE(panel->request().policy, QStringLiteral("treekv:sinks=9"));
        defaults.budget = QStringLiteral("700");
        panel->set_defaults(defaults); // the session's choice is kept
        QCOMPARE(panel->request().policy, QStringLiteral("treekv:sinks=9"));
        panel->findChild<QLineEdit*>(QStringLiteral("budget"))->setText(QStringLiteral("77"));
        panel->set_session(nullptr);
        QVERIFY(shows_defaults());
        panel->findChild<QLineEdit*>(QStringLiteral("budget"))->setText(QStringLiteral("77"));
        panel->set_session(nullptr);
        panel->set_defaults(defaults); // the user's choice is kept
        QCOMPARE(panel->request().budget, QStringLiteral("77"));
    }

    void a_policy_without_a_budget_needs_a_full_cache()
    {
        const auto panel = panel_with_model();
        const auto context = static_cast<uint64_t>(model_->config().context);
        for (const auto& [policy, budget] :
             {std::pair{"full", ""}, std::pair{"full", "none"}, std::pair{"refreekv", "none"}}) {
            choose(*panel, policy, text(budget));
            QVERIFY2(panel->check().good(), qPrintable(panel->check().sentence));
            QCOMPARE(panel->check().capacity, std::optional(context));
            const engine::ModelConfig& model = model_->config();
            const auto lists = static_cast<uint64_t>(model.layers * model.kv_heads);
            const auto bytes_per_token =
                static_cast<uint64_t>(2 * model.head_dim) * 2; // keys and values of 16 bits
            QVERIFY(*panel->check().cache_bytes >= lists * context * bytes_per_token);
            bool told = false;
            for (const QLabel* label : panel->findChildren<QLabel*>())
                told = told || (label->text().contains(QLatin1String("2,048")) &&
                                label->text().contains(QLatin1String("full one")));
            QVERIFY(told);
        }
        choose(*panel, "treekv", QStringLiteral("512"));
        QVERIFY(!panel->check().capacity);
    }

    void one_key_restores_the_defaults()
    {
        const auto panel = panel_with_model();
        choose(*panel, "treekv:sinks=9", QStringLiteral("300"), 64);
        panel->activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(panel.get(), test::patience_ms));
        panel->findChild<QLineEdit*>(QStringLiteral("budget"))->setFocus();
        QTest::keyClick(panel.get(), Qt::Key_R, Qt::ControlModifier | Qt::ShiftModifier);
        QCOMPARE(panel->request().policy, QStringLiteral("treekv"));
        QCOMPARE(panel->request().budget, QString());
        QCOMPARE(panel->request().chunk, NewSession().chunk);
    }

    void a_policy_is_found_and_applied_by_keyboard()
    {
        const auto panel = panel_with_model();
        QSignalSpy applied(panel.get(), &PolicyPanel::apply_wanted);
        panel->activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(panel.get(), test::patience_ms));
        auto* search = panel->findChild<QLineEdit*>(QStringLiteral("search"));
        search->setFocus();
        QTest::keyClicks(search, QStringLiteral("lacache"));
        QCOMPARE(panel->request().policy, QStringLiteral("treekv")); // a search alone does not choose a policy
        QTest::keyClick(search, Qt::Key_Down);
        auto* list = panel->findChild<QListView*>();
        EVENTUALLY(list->hasFocus());
        QTest::keyClick(list, Qt::Key_Home);
        QVERIFY(panel->request().policy.startsWith(QLatin1String("lacache")));
        QWidget* budget = panel->findChild<QLineEdit*>(QStringLiteral("budget"));
        for (int tabs = 0; tabs < 3 && !budget->hasFocus(); ++tabs)
            QTest::keyClick(QApplication::focusWidget(), Qt::Key_Tab);
        QVERIFY(budget->hasFocus());
        QTest::keyClicks(budget, QStringLiteral("256"));
        QTest::keyClick(budget, Qt::Key_Return, Qt::ControlModifier);
        QCOMPARE(applied.count(), 1);
        QCOMPARE(applied[0][0].value<NewSession>().budget, QStringLiteral("256"));
        QCOMPARE(applied[0][1].toBool(), true);
    }

    void with_a_session_open_the_panel_asks_before_it_applies()
    {
        for (const auto& [label, expected] :
             {std::pair{"copy", 1}, std::pair{"Go on", 0}, std::pair{"Cancel", -1}}) {
            const auto panel = panel_with_model();
            panel->set_session(session_with(*model_, {}));
            choose(*panel, "h2o", QStringLiteral("256"));
            QSignalSpy applied(panel.get(), &PolicyPanel::apply_wanted);
            panel->apply();
            auto* question = panel->findChild<QMessageBox*>();
            QVERIFY(question && applied.isEmpty());
            QVERIFY(question->informativeText().contains(QStringLiteral("cannot come back")));
            for (QAbstractButton* button : question->buttons())
                if (button->text().remove(QLatin1Char('&')).contains(QLatin1String(label))) {
                    button->click();
                    break;
                }
            QCOMPARE(applied.count(), expected < 0 ? 0 : 1);
            if (expected >= 0) QCOMPARE(applied[0][1].toBool(), expected == 1);
        }
    }

    void widgets_have_names_at_every_width()
    {
        const auto panel = panel_with_model();
        test::keep_pictures(*panel, QStringLiteral("policy"));
        choose(*panel, "treekv:sinks=9", QStringLiteral("300"));
        QCOMPARE(test::nameless(*panel), QStringList());
        panel->resize(panel->width(), panel->fontMetrics().height() * 90);
        panel->findChild<QLineEdit*>(QStringLiteral("parameter-sinks"))->setText(QStringLiteral("1000"));
        test::keep_pictures(*panel, QStringLiteral("policy-options"));
        choose(*panel, "lacache", QStringLiteral("1MiB"));
        panel->resize(panel->fontMetrics().averageCharWidth() * 40, panel->fontMetrics().height() * 45);
        test::keep_pictures(*panel, QStringLiteral("policy-narrow"));
        panel->set_session(session_with(*model_, {}));
        panel->apply();
        test::keep_pictures(*panel->findChild<QMessageBox*>(), QStringLiteral("policy-question"));
    }
};

QTEST_MAIN(PolicyPanelTest)
#include "policy_panel_test.moc"
