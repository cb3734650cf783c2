// The instructions of a session can be edited until it begins and are read-only afterwards; no draft is lost.
#include <QPlainTextEdit>
#include <QSignalSpy>
#include <QTest>
#include <QToolButton>

#include "tests/ui/support/looks.h"
#include "tests/ui/support/patience.h"
#include "ui/chat/instructions.h"

using namespace palimpsest;
using namespace palimpsest::ui;

namespace {

SessionFacts session(int64_t id, const QString& system, bool has_begun)
{
    SessionFacts facts;
    facts.id = id;
    facts.system = system;
    facts.has_begun = has_begun;
    return facts;
}

struct Shown {
    Shown()
    {
        instructions.resize(600, 300);
        instructions.show();
        instructions.activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(&instructions, test::patience_ms));
    }
    QString note() const { return instructions.field()->accessibleDescription(); }
    void unfold_by_key()
    {
        auto* header = instructions.findChild<QToolButton*>();
        header->setFocus();
        QTest::keyClick(header, Qt::Key_Space);
    }

    Instructions instructions;
    QSignalSpy drafted{&instructions, &Instructions::drafted};
    QSignalSpy wanted{&instructions, &Instructions::wanted};
};

} // namespace

class InstructionsTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void the_field_unfolds_by_keyboard_and_has_a_name()
    {
        Shown shown;
        QVERIFY(!shown.instructions.field()->isVisible());
        shown.unfold_by_key();
        QVERIFY(shown.instructions.field()->isVisible());
        QVERIFY(shown.instructions.field()->hasFocus());
        QCOMPARE(test::nameless(shown.instructions), QStringList());
        QCOMPARE(test::clipped(shown.instructions), QStringList());
        QVERIFY(shown.note().contains(QLatin1String("next session")));
        QVERIFY(shown.note().contains(QLatin1String("until the session reads its first text")));
    }

    void a_draft_is_for_the_next_session()
    {
        Shown shown;
        shown.instructions.set_usual(QStringLiteral("Be kind."));
        QCOMPARE(shown.instructions.text(), QStringLiteral("Be kind."));
        QCOMPARE(shown.drafted.count(), 0);
        shown.unfold_by_key();
        QTest::keyClick(shown.instructions.field(), Qt::Key_End, Qt::ControlModifier);
        QTest::keyClicks(shown.instructions.field(), QStringLiteral(" Be brief."));
        QCOMPARE(shown.drafted.last()[0].toString(), QStringLiteral("Be kind. Be brief."));
        shown.instructions.set_usual(QStringLiteral("Another default."));
        QCOMPARE(shown.instructions.text(), QStringLiteral("Be kind. Be brief.")); // a draft is not overwritten
        const SessionFacts begun = session(1, QStringLiteral("Be kind. Be brief."), true);
        shown.instructions.show_session(&begun);
        shown.instructions.show_session(nullptr);
        QCOMPARE(shown.instructions.text(), QStringLiteral("Another default."));
        QCOMPARE(shown.wanted.count(), 0);
    }

    void instructions_are_requested_when_the_field_loses_focus()
    {
        Shown shown;
        const SessionFacts empty = session(1, {}, false);
        shown.instructions.show_session(&empty);
        shown.unfold_by_key();
        QTest::keyClicks(shown.instructions.field(), QStringLiteral("Answer in verse."));
        QCOMPARE(shown.wanted.count(), 0);
        shown.instructions.show_session(&empty); // facts that were published again for another reason
        QCOMPARE(shown.instructions.text(), QStringLiteral("Answer in verse."));
        QTest::keyClick(shown.instructions.field(), Qt::Key_Backtab);
        QVERIFY(!shown.instructions.field()->hasFocus());
        QCOMPARE(shown.wanted.count(), 1);
        QCOMPARE(shown.wanted[0][0].toString(), QStringLiteral("Answer in verse."));
        shown.instructions.show_session(&empty); // facts published before the engine applied the instructions
        QCOMPARE(shown.instructions.text(), QStringLiteral("Answer in verse."));
        const SessionFacts set = session(1, QStringLiteral("Answer in verse."), false);
        shown.instructions.show_session(&set);
        shown.instructions.commit();
        QCOMPARE(shown.wanted.count(), 1);
        shown.instructions.show_session(&empty); // the instructions were removed elsewhere
        QCOMPARE(shown.instructions.text(), QString());
    }

    void ctrl_z_undoes_typing_after_a_commit()
    {
        Shown shown;
        const SessionFacts before = session(1, QStringLiteral("Be kind."), false);
        shown.instructions.show_session(&before);
        shown.unfold_by_key();
        QTest::keyClick(shown.instructions.field(), Qt::Key_End, Qt::ControlModifier);
        QTest::keyClicks(shown.instructions.field(), QStringLiteral("!!"));
        shown.instructions.commit();
        const SessionFacts after = session(1, QStringLiteral("Be kind.!!"), false);
        shown.instructions.show_session(&after);
        QTest::keyClick(shown.instructions.field(), Qt::Key_Z, Qt::ControlModifier);
        QCOMPARE(shown.instructions.text(), QStringLiteral("Be kind."));
    }

    void instructions_of_a_begun_session_are_read_only()
    {
        Shown shown;
        const SessionFacts begun = session(1, QStringLiteral("Be kind."), true);
        shown.instructions.show_session(&begun);
        shown.unfold_by_key();
        QTest::keyClicks(shown.instructions.field(), QStringLiteral("x"));
        QCOMPARE(shown.instructions.text(), QStringLiteral("Be kind."));
        QVERIFY(shown.instructions.field()->isReadOnly());
        QVERIFY(shown.note().contains(QLatin1String("cannot be changed")));
        shown.instructions.commit();
        QCOMPARE(shown.wanted.count(), 0);
        const SessionFacts other = session(2, {}, false);
        shown.instructions.show_session(&other);
        QVERIFY(!shown.instructions.field()->isReadOnly());
        QCOMPARE(shown.instructions.text(), QString());
    }

    void a_note_says_when_the_model_has_no_place_for_instructions()
    {
        Shown shown;
        QVERIFY(!shown.note().contains(QLatin1String("no place")));
        shown.instructions.set_has_place(false);
        QVERIFY(shown.note().contains(QLatin1String("no place")));
    }

    void the_instructions_follow_the_palette()
    {
        const auto make = [] {
            auto instructions = std::make_unique<Instructions>();
            instructions->set_usual(QStringLiteral("Be kind."));
            instructions->set_unfolded(true);
            instructions->resize(600, 300);
            instructions->show();
            return std::shared_ptr<QWidget>(std::move(instructions));
        };
        QCOMPARE(test::colours_that_stay(make), QString());
    }
};

QTEST_MAIN(InstructionsTest)
#include "instructions_test.moc"
