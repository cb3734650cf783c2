// The settings: they are stored unchanged, and refused if the engine refuses them.
#include <QComboBox>
#include <QDockWidget>
#include <QLineEdit>
#include <QPushButton>
#include <functional>
#include <limits>

#include "tests/ui/window/stage.h"
#include "ui/window/seed_field.h"
#include "ui/window/settings_dialog.h"

using namespace palimpsest;
using namespace palimpsest::ui;
using namespace palimpsest::ui::test;

class PreferencesTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() { use_own_places(); }

    void preferences_are_the_same_after_a_restart()
    {
        Stage stage;
        Preferences changed = stage.window->preferences();
        changed.policy = "lacache:sinks=8";
        changed.budget = "512MiB";
        changed.chunk = 256;
        changed.snapshot = "q4";
        changed.system = "Be brief.\nAlways.";
        changed.sampling.temperature = 0.123456789012345;
        changed.sampling.seed = std::numeric_limits<uint64_t>::max();
        changed.enter_sends = false;
        changed.model.device = "cuda:1";
        changed.model.threads = 3;
        changed.text_percent = 120;
        changed.colours = Colours::Dark;
        changed.reduced_motion = true;
        changed.answers_from_sentences = false;
        changed.writes_notes = true;
        changed.suggests_questions = false;
        changed.language = "de";
        stage.window->change_preferences(changed);
        auto* memory = stage.window->findChild<QDockWidget*>("memory");
        memory->hide();
        stage.window->resize(1300, 850);
        stage.window->close();
        stage.store.emplace(stage.folder.filePath("window.ini"));
        stage.open();
        const Preferences found = stage.window->preferences();
        QCOMPARE(found.policy, changed.policy);
        QCOMPARE(found.budget, changed.budget);
        QCOMPARE(found.chunk, changed.chunk);
        QCOMPARE(found.snapshot, changed.snapshot);
        QCOMPARE(found.new_session().snapshot, changed.snapshot);
        QCOMPARE(found.system, changed.system);
        QVERIFY(found.sampling == changed.sampling);
        QCOMPARE(found.enter_sends, false);
        QCOMPARE(found.model.device, changed.model.device);
        QCOMPARE(found.model.threads, 3);
        QCOMPARE(found.text_percent, 120);
        QCOMPARE(found.colours, Colours::Dark);
        QCOMPARE(found.reduced_motion, true);
        QCOMPARE(found.answers_from_sentences, false);
        QCOMPARE(found.writes_notes, true);
        QCOMPARE(found.suggests_questions, false);
        QCOMPARE(found.language, changed.language);
        QVERIFY(!stage.window->findChild<QDockWidget*>("memory")->isVisible());
        QCOMPARE(stage.window->size(), QSize(1300, 850));
        stage.window->actions()[ActionId::ResetLayout]->trigger();
        QVERIFY(stage.window->findChild<QDockWidget*>("memory")->isVisible());
        stage.window->change_preferences({});
    }

    void the_dialog_returns_unchanged_preferences_exactly_data()
    {
        QTest::addColumn<Preferences>("stored");
        const auto row = [](const char* name, const std::function<void(Preferences&)>& change) {
            Preferences stored;
            change(stored);
            QTest::newRow(name) << stored;
        };
        row("as they come", [](Preferences&) {});
        row("many decimals", [](Preferences& p) {
            p.sampling.temperature = 0.123456789;
            p.sampling.top_p = 1.0 / 3;
            p.sampling.min_p = 1e-7;
            p.sampling.repeat_penalty = 1.0049999999999999;
        });
        row("beyond the fields", [](Preferences& p) {
            p.sampling.temperature = 250;
            p.sampling.top_p = 0.001;
            p.sampling.top_k = 2'000'000;
            p.max_tokens = p.chunk = 5'000'000;
            p.model.threads = 5000;
        });
        row("a rounded cache", [](Preferences& p) { p.snapshot = "q8"; });
        row("the largest seed", [](Preferences& p) { p.sampling.seed = std::numeric_limits<uint64_t>::max(); });
        row("a language without a translation", [](Preferences& p) { p.language = "fr"; });
        row("a device that is not there", [](Preferences& p) { p.model.device = "cuda:7"; });
    }

    void the_dialog_returns_unchanged_preferences_exactly()
    {
        QFETCH(Preferences, stored);
        const SettingsDialog dialog(stored, {}, nullptr);
        const Preferences found = dialog.preferences();
        QVERIFY(found.sampling == stored.sampling);
        QCOMPARE(found.max_tokens, stored.max_tokens);
        QCOMPARE(found.chunk, stored.chunk);
        QCOMPARE(found.snapshot, stored.snapshot);
        QCOMPARE(found.model.threads, stored.model.threads);
        QCOMPARE(found.model.device, stored.model.device);
        QCOMPARE(found.language, stored.language);
    }

    void the_seed_field_accepts_64_bits()
    {
        SeedField field(7);
        field.clear();
        QCOMPARE(field.seed(), uint64_t{0});
        QTest::keyClicks(&field, "-18446744073709551615");
        QCOMPARE(field.seed(), std::numeric_limits<uint64_t>::max());
        QTest::keyClicks(&field, "5");
        QCOMPARE(field.seed(), std::numeric_limits<uint64_t>::max());
    }

    void the_dialog_refuses_a_policy_or_budget_that_the_engine_refuses()
    {
        Preferences preferences;
        SettingsDialog dialog(preferences, {}, nullptr);
        auto* policy = dialog.findChild<QComboBox*>({}, Qt::FindChildrenRecursively);
        for (QComboBox* box : dialog.findChildren<QComboBox*>())
            if (box->isEditable()) policy = box;
        QVERIFY(policy->isEditable());
        QVERIFY(policy->count() > 10); // all policies
        const auto is_possible = [&] {
            for (const QPushButton* button : dialog.findChildren<QPushButton*>())
                if (button->text().contains("OK")) return button->isEnabled();
            return false;
        };
        QVERIFY(is_possible());
        policy->setCurrentText("nosuchpolicy");
        QVERIFY(!is_possible());
        policy->setCurrentText("treekv:sinks=4");
        QVERIFY(is_possible());
        for (QLineEdit* field : dialog.findChildren<QLineEdit*>())
            if (field->accessibleName() == "Budget") field->setText("a lot");
        QVERIFY(!is_possible());
        QCOMPARE(dialog.preferences().policy, QString("treekv:sinks=4"));
    }
};

QTEST_MAIN(PreferencesTest)
#include "preferences_test.moc"
