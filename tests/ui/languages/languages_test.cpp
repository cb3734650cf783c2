// The languages of the window: translations are complete, and the window works in languages without one.
#include <QComboBox>
#include <QDialogButtonBox>
#include <QListWidget>
#include <QLocale>
#include <QMenuBar>
#include <QProcess>
#include <QPushButton>
#include <QRegularExpression>
#include <QTabWidget>
#include <QTranslator>

#include "engine/policy/named/registry.h"
#include "tests/support/project_folders.h"
#include "tests/ui/desktop/program.h"
#include "tests/ui/languages/translation_file.h"
#include "tests/ui/support/looks.h"
#include "tests/ui/support/patience.h"
#include "ui/base/wording.h"
#include "ui/policy/parameter_field.h"
#include "ui/window/about_dialog.h"
#include "ui/window/keyboard_help.h"
#include "ui/window/settings_dialog.h"
#include "ui/window/start.h"
#include "ui/window/tour.h"

namespace palimpsest::tests {

using namespace palimpsest::ui;

namespace {

QString translation_file(const QString& language)
{
    return QString::fromStdString(palimpsest::tests::source_file("resources/translations/palimpsest_%1.ts"))
        .arg(language);
}

// The strings in the sources, as `ninja renew-translations` finds them.
QMap<QString, TranslatedMessage> messages_of_sources(const QTemporaryDir& folder)
{
    const QString file = folder.filePath(QStringLiteral("sources_de.ts"));
    QProcess lupdate;
    lupdate.setWorkingDirectory(QString::fromStdString(palimpsest::tests::source_file({})));
    lupdate.start(QStringLiteral(PALIMPSEST_LUPDATE),
                  {QStringLiteral("-silent"), QStringLiteral("-I"), QStringLiteral("."), QStringLiteral("ui"),
                   QStringLiteral("-ts"), file});
    return lupdate.waitForFinished(120000) && lupdate.exitCode() == 0 ? read_translations(file)
                                                                      : QMap<QString, TranslatedMessage>();
}

QStringList placeholders(const QString& text)
{
    static const QRegularExpression pattern(QStringLiteral("%L?(?:n|\\d+)"));
    QStringList found;
    for (auto it = pattern.globalMatch(text); it.hasNext();)
        found += it.next().captured();
    found.sort();
    return found;
}

bool has_mnemonic(const QString& text)
{
    return !QKeySequence::mnemonic(text).isEmpty();
}

// Says which placeholder, mnemonic or line end a translation has changed; empty if none.
QString difference(const QString& source, const QString& translation)
{
    const auto ends = [](const QString& text, const char* end) { return text.endsWith(QString::fromUtf8(end)); };
    if (translation.isEmpty()) return QStringLiteral("is empty");
    if (placeholders(source) != placeholders(translation)) return QStringLiteral("has other placeholders");
    if (has_mnemonic(source) != has_mnemonic(translation)) return QStringLiteral("differs in its mnemonic");
    for (const char* end : {"…", ":", "[*]", "\n"})
        if (ends(source, end) != ends(translation, end))
            return QStringLiteral("ends otherwise than in '%1'").arg(QString::fromUtf8(end));
    if (source.count(u'\n') != translation.count(u'\n')) return QStringLiteral("has other lines");
    return {};
}

bool names_both_numbers(const QString& text)
{
    static const QRegularExpression pattern(QStringLiteral("\\((?:s|es|n|e|en)\\)"));
    return pattern.match(text).hasMatch();
}

// Returns pairs of entries with the same mnemonic, in this menu and in each of its submenus.
QStringList collisions(const QList<QAction*>& actions)
{
    QStringList found;
    QMap<QString, QString> taken;
    for (const QAction* action : actions) {
        if (action->menu()) found += collisions(action->menu()->actions());
        const QString key = QKeySequence::mnemonic(action->text()).toString();
        if (key.isEmpty()) continue;
        if (taken.contains(key)) found += QStringLiteral("%1 / %2").arg(taken[key], action->text());
        taken[key] = action->text();
    }
    return found;
}

QString sessions(int n)
{
    return QCoreApplication::translate("palimpsest::ui::LibraryModel", "%n session(s)", nullptr, n);
}

} // namespace

class LanguagesTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase();
    void cleanup();
    void german_has_every_string_of_the_sources();
    void english_has_every_plural();
    void translations_keep_placeholders_mnemonics_and_line_ends_data();
    void translations_keep_placeholders_mnemonics_and_line_ends();
    void singular_and_plural_are_translated_data();
    void singular_and_plural_are_translated();
    void no_menu_has_the_same_mnemonic_twice_data();
    void no_menu_has_the_same_mnemonic_twice();
    void the_window_is_german();
    void standard_buttons_of_qt_are_translated();
    void german_texts_are_not_clipped();
    void languages_are_listed_by_their_own_names();
    void a_right_to_left_language_mirrors_the_window_data();
    void a_right_to_left_language_mirrors_the_window();

private:
    void speak(const QString& language);

    QTemporaryDir folder_;
    QMap<QString, TranslatedMessage> sources_;
    std::unique_ptr<Program> program_;
};

void LanguagesTest::initTestCase()
{
    sources_ = messages_of_sources(folder_);
    QVERIFY(sources_.size() > 500);
}

void LanguagesTest::cleanup()
{
    program_.reset();
    qDeleteAll(qApp->findChildren<QTranslator*>());
    QApplication::setLayoutDirection(Qt::LeftToRight);
    QLocale::setDefault(QLocale(QLocale::English, QLocale::UnitedStates));
}

// Opens a window in a language, like the program at its start.
void LanguagesTest::speak(const QString& language)
{
    Preferences preferences;
    preferences.language = language;
    translate(*qApp, preferences);
    program_ = std::make_unique<Program>(folder_.path());
}

void LanguagesTest::german_has_every_string_of_the_sources()
{
    const auto german = read_translations(translation_file(QStringLiteral("de")));
    QStringList wrong;
    for (auto it = sources_.begin(); it != sources_.end(); ++it)
        if (!german.contains(it.key())) wrong += QStringLiteral("missing: ") + it.key();
    for (auto it = german.begin(); it != german.end(); ++it) {
        if (!sources_.contains(it.key())) wrong += QStringLiteral("no longer asked for: ") + it.key();
        if (!it->state.isEmpty()) wrong += it->state + QStringLiteral(": ") + it.key();
    }
    QVERIFY2(wrong.isEmpty(),
             qPrintable(QStringLiteral("run `ninja renew-translations` and translate what is new:\n") +
                        wrong.join(u'\n')));
}

void LanguagesTest::english_has_every_plural()
{
    const auto english = read_translations(translation_file(QStringLiteral("en")));
    QStringList wanted, wrong;
    for (auto it = sources_.begin(); it != sources_.end(); ++it)
        if (it->is_plural)
            wanted += it.key();
        else if (names_both_numbers(it->source))
            wrong += QStringLiteral("not a plural for tr(): ") + it.key();
    QCOMPARE(english.keys(), wanted);
    for (auto it = english.begin(); it != english.end(); ++it)
        if (!it->state.isEmpty()) wrong += it->state + QStringLiteral(": ") + it.key();
    QVERIFY2(wrong.isEmpty(), qPrintable(wrong.join(u'\n')));
}

void LanguagesTest::translations_keep_placeholders_mnemonics_and_line_ends_data()
{
    QTest::addColumn<QString>("language");
    QTest::newRow("de") << QStringLiteral("de");
    QTest::newRow("en") << QStringLiteral("en");
}

void LanguagesTest::translations_keep_placeholders_mnemonics_and_line_ends()
{
    QFETCH(QString, language);
    const auto messages = read_translations(translation_file(language));
    QVERIFY(!messages.isEmpty());
    QStringList wrong;
    for (auto it = messages.begin(); it != messages.end(); ++it) {
        if (it->is_plural && it->forms.size() != 2) wrong += QStringLiteral("one form for two: ") + it.key();
        for (const QString& form : it->forms) {
            if (const QString how = difference(it->source, form); !how.isEmpty())
                wrong += QStringLiteral("'%1' %2: %3").arg(form, how, it.key());
            if (names_both_numbers(form)) wrong += QStringLiteral("'%1' reads for one and for many").arg(form);
        }
    }
    QVERIFY2(wrong.isEmpty(), qPrintable(wrong.join(u'\n')));
}

void LanguagesTest::singular_and_plural_are_translated_data()
{
    QTest::addColumn<QString>("language");
    QTest::addColumn<QString>("one");
    QTest::addColumn<QString>("two");
    const QString one = QStringLiteral("1 session"), two = QStringLiteral("2 sessions");
    QTest::newRow("English") << QStringLiteral("en") << one << two;
    QTest::newRow("British") << QStringLiteral("en_GB") << one << two;
    QTest::newRow("German") << QStringLiteral("de") << QStringLiteral("1 Sitzung") << QStringLiteral("2 Sitzungen");
    QTest::newRow("Austrian") << QStringLiteral("de_AT") << QStringLiteral("1 Sitzung")
                              << QStringLiteral("2 Sitzungen");
    QTest::newRow("a language without a translation") << QStringLiteral("fi") << one << two;
    QTest::newRow("no language") << QStringLiteral("C") << one << two;
}

void LanguagesTest::singular_and_plural_are_translated()
{
    QFETCH(QString, language);
    Preferences preferences;
    preferences.language = language;
    translate(*qApp, preferences);
    QTEST(sessions(1), "one");
    QTEST(sessions(2), "two");
}

void LanguagesTest::no_menu_has_the_same_mnemonic_twice_data()
{
    translations_keep_placeholders_mnemonics_and_line_ends_data();
}

void LanguagesTest::no_menu_has_the_same_mnemonic_twice()
{
    QFETCH(QString, language);
    speak(language);
    const QStringList found = collisions(program_->window().menuBar()->actions());
    QVERIFY2(found.isEmpty(), qPrintable(found.join(u'\n')));
}

void LanguagesTest::the_window_is_german()
{
    speak(QStringLiteral("de"));
    QStringList menus;
    for (const QAction* menu : program_->window().menuBar()->actions())
        menus += menu->text();
    QCOMPARE(menus, (QStringList{QStringLiteral("&Datei"), QStringLiteral("&Sitzung"), QStringLiteral("&Ansicht"),
                                 QStringLiteral("&Policy"), QStringLiteral("&Hilfe")}));
    QCOMPARE(program_->window().actions()[ActionId::NewSession]->text(), QStringLiteral("&Neue Sitzung"));
    QCOMPARE(program_->window().findChild<QTabWidget*>()->tabText(1), QStringLiteral("Dokument"));
    QCOMPARE(shown(Text(Setting::Budget)), QStringLiteral("Budget"));
    QCOMPARE(shown(Text(Step::ListSessions)), QStringLiteral("wählen Sie eine in der Bibliothek"));
    const engine::PolicyInfo& policy = *engine::find_policy("refreekv");
    const ParameterField field(*std::ranges::find(policy.parameters, "mask_sinks", &engine::ParameterInfo::key));
    QVERIFY(field.findChild<QWidget*>(QStringLiteral("parameter-mask_sinks"))
                ->accessibleDescription()
                .contains(QStringLiteral("bei ranking=score")));
    QVERIFY(shown(policy.paper).contains(QStringLiteral("die Einstellung der Arbeit")));
    QCOMPARE(QLocale().toString(1234567), QStringLiteral("1.234.567"));
}

// Qt's own texts come from Debian's qt6-translations-l10n; without that package they are English, and this test
// fails.
void LanguagesTest::standard_buttons_of_qt_are_translated()
{
    speak(QStringLiteral("de"));
    const SettingsDialog settings(program_->window().preferences(), {}, &program_->window());
    const auto* buttons = settings.findChild<QDialogButtonBox*>();
    QCOMPARE(buttons->button(QDialogButtonBox::Cancel)->text(), QStringLiteral("Abbrechen"));
}

void LanguagesTest::german_texts_are_not_clipped()
{
    speak(QStringLiteral("de"));
    MainWindow& window = program_->window();
    window.resize(1280, 800);
    QVERIFY(QTest::qWaitForWindowExposed(&window, test::patience_ms));
    const auto holds = [](QWidget& widget, const char* name) {
        QCoreApplication::processEvents();
        ui::test::keep_pictures(widget, QLatin1String("german-") + QLatin1String(name));
        const QStringList found = ui::test::clipped(widget);
        QVERIFY2(found.isEmpty(), qPrintable(QLatin1String(name) + QLatin1String(": ") + found.join(u'\n')));
    };
    for (const auto& [tab, name] : {std::pair(Tab::Chat, "chat"), std::pair(Tab::Document, "document"),
                                    std::pair(Tab::Outline, "outline"), std::pair(Tab::Compare, "compare")}) {
        window.show_tab(tab);
        holds(window, name);
    }
    window.focus_policy();
    holds(window, "policy");
    window.start_tour();
    for (int step = 0; step < window.tour()->steps(); ++step, window.tour()->next())
        holds(window, qPrintable(QStringLiteral("tour%1").arg(step)));
    SettingsDialog settings(window.preferences(), {}, &window);
    settings.show();
    for (int page = 0; page < settings.findChild<QListWidget*>()->count(); ++page) {
        settings.findChild<QListWidget*>()->setCurrentRow(page);
        holds(settings, qPrintable(QStringLiteral("settings%1").arg(page)));
    }
    for (const AboutPage page : {AboutPage::Program, AboutPage::Privacy, AboutPage::Licences}) {
        AboutDialog about(QStringLiteral("0.1.0"), {}, page, &window);
        about.show();
        holds(about, qPrintable(QStringLiteral("about%1").arg(static_cast<int>(page))));
    }
    KeyboardHelp help(window.actions(), &window);
    help.show();
    holds(help, "keyboard");
}

void LanguagesTest::languages_are_listed_by_their_own_names()
{
    const QStringList codes = find_places({}).languages;
    QVERIFY(codes.contains(QStringLiteral("de")));
    SettingsFacts facts;
    facts.languages = codes;
    const SettingsDialog settings(Preferences{}, facts, nullptr);
    for (const QComboBox* box : settings.findChildren<QComboBox*>()) {
        if (box->findData(QStringLiteral("de")) < 0) continue;
        QStringList names;
        for (int i = 1; i < box->count(); ++i) // entry 0 is the desktop's language
            names += box->itemText(i);
        QCOMPARE(names, (QStringList{QStringLiteral("English"), QStringLiteral("Deutsch")}));
        return;
    }
    QFAIL("there is no choice of languages");
}

void LanguagesTest::a_right_to_left_language_mirrors_the_window_data()
{
    QTest::addColumn<QString>("language");
    QTest::newRow("Arabic") << QStringLiteral("ar");
    QTest::newRow("Hebrew") << QStringLiteral("he");
}

// These languages have no translation: the texts are English, but the layout is mirrored.
void LanguagesTest::a_right_to_left_language_mirrors_the_window()
{
    QFETCH(QString, language);
    speak(language);
    MainWindow& window = program_->window();
    QVERIFY(QTest::qWaitForWindowExposed(&window, test::patience_ms));
    QCOMPARE(window.layoutDirection(), Qt::RightToLeft);
    QAction* first = window.menuBar()->actions().constFirst();
    QCOMPARE(first->text(), QStringLiteral("&File"));
    QVERIFY(window.menuBar()->actionGeometry(first).x() > window.width() / 2);
    QVERIFY(!sessions(1).contains(u'(') && !sessions(2).contains(u'('));
    for (const Tab tab : {Tab::Chat, Tab::Document, Tab::Outline, Tab::Compare}) {
        window.show_tab(tab);
        QCoreApplication::processEvents();
    }
    ui::test::keep_pictures(window, QLatin1String("right-to-left-") + language);
}

} // namespace palimpsest::tests

QTEST_MAIN(palimpsest::tests::LanguagesTest)
#include "languages_test.moc"
