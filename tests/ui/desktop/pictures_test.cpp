// Draws every view of the window, light and dark, and saves the pictures if PALIMPSEST_PICTURES names a folder
// (docs/pictures is made this way, see docs/update.py). Also checks that no widget is too small for its text, and
// that dark pictures are darker than light ones.
#include <QAbstractItemView>
#include <QComboBox>
#include <QDialog>
#include <QDir>
#include <QLabel>
#include <QLineEdit>
#include <QPainter>
#include <QSignalSpy>

#include "storage/models/model_folders.h"
#include "tests/support/project_folders.h"
#include "tests/ui/desktop/program.h"
#include "tests/ui/support/at_rest.h"
#include "tests/ui/support/looks.h"
#include "tests/ui/support/patience.h"
#include "ui/base/theme.h"
#include "ui/compare/compare_view.h"
#include "ui/map/view.h"
#include "ui/outline/outline_page.h"
#include "ui/outline/outline_view.h"
#include "ui/window/model_bar.h"
#include "ui/window/start.h"
#include "ui/window/tour.h"

namespace palimpsest::tests {

using namespace palimpsest::ui;

class PicturesTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase();
    void the_first_start_is_drawn();
    void a_reading_is_drawn();
    void the_chat_is_drawn();
    void the_document_is_drawn();
    void the_sentence_of_an_answer_is_drawn();
    void the_sources_of_an_answer_are_drawn();
    void the_map_of_all_heads_is_drawn();
    void the_policy_panel_is_drawn();
    void the_outline_is_drawn();
    void a_comparison_is_drawn();
    void an_epub_and_a_pdf_are_drawn();
    void a_search_is_drawn();
    void the_command_palette_is_drawn();
    void the_settings_are_drawn();
    void the_privacy_page_is_drawn();
    void first_start_with_a_model();
    void cleanupTestCase();

private:
    void keep(const QString& name, QWidget* widget = nullptr);
    void keep_picture(const QImage& image, const QString& name) const;
    void ask(const QString& question);
    QDialog* dialog() const;

    QTemporaryDir folder_;
    QString sample_;
    std::unique_ptr<Program> program_;
};

namespace {

double brightness(const QImage& image)
{
    const QImage small = image.scaled(64, 64, Qt::IgnoreAspectRatio, Qt::SmoothTransformation);
    double sum = 0;
    for (int y = 0; y < small.height(); ++y)
        for (int x = 0; x < small.width(); ++x)
            sum += qGray(small.pixel(x, y));
    return sum / (64 * 64);
}

} // namespace

void PicturesTest::initTestCase()
{
    sample_ = QString::fromStdString(palimpsest::tests::source_file("resources/samples/ashford-light.md"));
    if (qEnvironmentVariableIsEmpty("PALIMPSEST_PICTURES")) sample_ = part_of_sample(folder_, 16000);
    QApplication::setPalette(ui::test::light_palette());
    Preferences english;
    english.language = QStringLiteral("en");
    translate(*qApp, english);
    program_ = std::make_unique<Program>(folder_.path(), sample_);
    const double scale = program_->window().devicePixelRatioF();
    if (scale > 1) program_->window().resize(1280, 720);
    Preferences preferences = program_->window().preferences();
    preferences.max_tokens = 60;
    preferences.sampling.temperature = 0;
    program_->window().change_preferences(preferences);
    program_->bench().begin({});
    QVERIFY(program_->settle());
}

void PicturesTest::cleanupTestCase()
{
    program_.reset();
}

void PicturesTest::keep(const QString& name, QWidget* widget)
{
    QWidget& shown = widget ? *widget : program_->window();
    double lightness[2] = {};
    for (const bool dark : {false, true}) {
        QApplication::setPalette(dark ? ui::test::dark_palette() : ui::test::light_palette());
        QVERIFY(ui::test::comes_to_rest(shown));
        const QImage image = shown.grab().toImage();
        lightness[dark ? 1 : 0] = brightness(image);
        keep_picture(image, name + (dark ? QStringLiteral("-dark") : QStringLiteral("-light")));
    }
    QVERIFY2(lightness[0] > lightness[1] + 40, qPrintable(name));
    QCOMPARE(ui::test::clipped(shown).join(u'\n'), QString());
    QApplication::setPalette(ui::test::light_palette());
}

void PicturesTest::keep_picture(const QImage& image, const QString& name) const
{
    const QString folder = qEnvironmentVariable("PALIMPSEST_PICTURES");
    if (folder.isEmpty()) return;
    QVERIFY(QDir().mkpath(folder));
    const QString scale = image.devicePixelRatioF() > 1 ? QStringLiteral("-2x") : QString();
    QVERIFY(image.save(QStringLiteral("%1/%2%3.png").arg(folder, name, scale), "PNG", 0)); // 0: the smallest file
}

void PicturesTest::ask(const QString& question)
{
    program_->say(question);
    QVERIFY(program_->settle());
    QCOMPARE(program_->failures(), QStringList());
}

// Waits for a dialog, which is modal to the window but does not block the event loop. Returns nullptr on timeout.
QDialog* PicturesTest::dialog() const
{
    QDialog* found = nullptr;
    const auto look = [&] {
        for (QDialog* dialog : program_->window().findChildren<QDialog*>())
            if (dialog->isVisible()) found = dialog;
        return found != nullptr;
    };
    return test::eventually(look) ? found : nullptr;
}

void PicturesTest::the_first_start_is_drawn()
{
    QVERIFY(program_->window().tour());
    keep(QStringLiteral("first-start"));
    program_->window().tour()->leave();
}

void PicturesTest::a_reading_is_drawn()
{
    program_->window().open_paths({sample_});
    const auto is_under_way = [&] {
        const auto frame = program_->bench().frame();
        const auto facts = program_->facts();
        const bool is_read = facts && facts->tokens_read > 0 && facts->tokens_read == facts->tokens_in_input;
        return is_read || (frame->activity == Activity::Reading && frame->share.value_or(0) > 0.3);
    };
    QVERIFY(test::eventually(is_under_way));
    const QSignalSpy early(&program_->engine(), &EngineThread::question_answered_early);
    program_->say(QStringLiteral("Who kept the light first?"));
    QVERIFY(test::eventually([&] { return early.count() > 0; }));
    keep(QStringLiteral("reading"));
    QVERIFY(program_->settle());
}

void PicturesTest::the_chat_is_drawn()
{
    ask(QStringLiteral("What was in the seventeenth volume?"));
    keep(QStringLiteral("chat"));
}

void PicturesTest::the_document_is_drawn()
{
    program_->window().show_tab(Tab::Document);
    DocumentView* text = program_->areas().document()->view();
    text->jump_to(program_->facts()->documents[0].range.last * 93 / 100); // the kept share changes visibly there
    QVERIFY(test::eventually([&] { return text->text_layout().is_complete(); }));
    keep(QStringLiteral("document"));
}

void PicturesTest::the_sentence_of_an_answer_is_drawn()
{
    program_->window().show_tab(Tab::Chat);
    ChatView* chat = program_->areas().chat()->view();
    const int last = chat->turns().count() - 1;
    QVERIFY(chat->turns()[last].turn.provenance && chat->turns()[last].turn.provenance->quote);
    chat->perform(last, TurnAction::ShowQuote);
    DocumentView* text = program_->areas().document()->view();
    QVERIFY(test::eventually([&] { return text->text_layout().is_complete(); }));
    keep(QStringLiteral("sentence"));
}

void PicturesTest::the_sources_of_an_answer_are_drawn()
{
    program_->window().show_tab(Tab::Chat);
    program_->engine().set_rereads(false); // a turn that reads much again does not fit the small model's context
    ask(QStringLiteral("Who kept the light first?"));
    ChatView* chat = program_->areas().chat()->view();
    chat->perform(chat->turns().count() - 1, TurnAction::ShowSources);
    DocumentView* text = program_->areas().document()->view();
    QVERIFY(test::eventually([&] { return text->text_layout().is_complete(); }));
    keep(QStringLiteral("sources"));
}

void PicturesTest::the_map_of_all_heads_is_drawn()
{
    RetentionView* map = program_->areas().map();
    QWidget* dock = map->parentWidget();
    dock->setProperty("floating", true);
    dock->resize(1000, 560);
    map->expand_all();
    keep(QStringLiteral("map"), dock);
    map->collapse_all();
    dock->setProperty("floating", false);
}

void PicturesTest::the_policy_panel_is_drawn()
{
    program_->window().show_tab(Tab::Chat);
    program_->window().focus_policy();
    keep(QStringLiteral("policy"));
}

void PicturesTest::the_outline_is_drawn()
{
    program_->engine().write_notes();
    QVERIFY(program_->settle());
    QCOMPARE(program_->failures(), QStringList());
    program_->window().show_tab(Tab::Outline);
    program_->areas().outline()->view()->scrollToBottom(); // what was read last is still held
    keep(QStringLiteral("outline"));
}

void PicturesTest::a_comparison_is_drawn()
{
    program_->window().show_tab(Tab::Compare);
    CompareView* compare = program_->areas().compare();
    compare->set_choices({{QStringLiteral("treekv"), QStringLiteral("512")},
                          {QStringLiteral("lacache"), QStringLiteral("512")},
                          {QStringLiteral("streaming"), QStringLiteral("512")}});
    compare->start();
    QVERIFY(test::eventually([&] { return !compare->is_running() && compare->state() != nullptr; }, 600'000));
    QVERIFY(program_->settle());
    QCOMPARE(program_->failures(), QStringList());
    QVERIFY(compare->state()->phase == CompareState::Phase::Finished);
    keep(QStringLiteral("compare"));
}

void PicturesTest::an_epub_and_a_pdf_are_drawn()
{
    const auto document = [](const char* name) {
        return QString::fromStdString(source_file(std::string("tests/fixtures/documents/") + name));
    };
    program_->trigger(ActionId::NewSession);
    QVERIFY(program_->settle());
    program_->window().open_paths({document("pandoc-manual.epub"), document("latex-long.pdf")});
    QVERIFY(program_->settle());
    QCOMPARE(program_->failures(), QStringList());
    QCOMPARE(program_->facts()->documents.size(), size_t{2});
    for (const auto& [name, share] : {std::pair("epub", 1), std::pair("pdf", 60)}) {
        const DocumentPart& part = program_->facts()->documents[name == std::string_view("pdf") ? 1 : 0];
        program_->window().show_tab(Tab::Document);
        DocumentView* text = program_->areas().document()->view();
        text->jump_to(part.range.first + (part.range.last - part.range.first) * static_cast<uint64_t>(share) / 100);
        QVERIFY(test::eventually([&] { return text->text_layout().is_complete(); }));
        keep(QString::fromLatin1(name));
    }
    program_->window().show_tab(Tab::Outline);
    keep(QStringLiteral("epub-outline"));
    program_->window().show_tab(Tab::Chat);
    ask(QStringLiteral("What did the widow write in the last week of autumn?"));
    program_->areas().chat()->view()->perform(program_->areas().chat()->view()->turns().count() - 1,
                                              TurnAction::ShowSources);
    DocumentView* text = program_->areas().document()->view();
    QVERIFY(test::eventually([&] { return text->text_layout().is_complete(); }));
    keep(QStringLiteral("pdf-sources"));
}

void PicturesTest::a_search_is_drawn()
{
    program_->window().show_tab(Tab::Chat);
    program_->trigger(ActionId::SearchLibrary);
    auto* field = program_->window().library().findChild<QLineEdit*>();
    QVERIFY(field);
    QTest::keyClicks(field, QStringLiteral("keeper light"));
    const auto is_searched = [&] {
        const auto labels = program_->window().library().findChildren<QLabel*>();
        return std::any_of(labels.begin(), labels.end(),
                           [](const QLabel* label) { return label->text().startsWith(QStringLiteral("Found:")); });
    };
    EVENTUALLY(is_searched());
    QTest::keyClick(field, Qt::Key_Return);
    DocumentView* text = program_->areas().document()->view();
    EVENTUALLY(text->isVisible() && text->is_flashing()); // the words were found
    keep(QStringLiteral("search"));
    field->clear();
}

void PicturesTest::the_command_palette_is_drawn()
{
    program_->trigger(ActionId::CommandPalette);
    QDialog* palette = dialog();
    QVERIFY(palette);
    auto* field = palette->findChild<QLineEdit*>();
    QVERIFY(field);
    QTest::keyClicks(field, QStringLiteral("ex"));
    keep(QStringLiteral("command-palette"), palette);
    palette->close();
}

void PicturesTest::the_settings_are_drawn()
{
    program_->trigger(ActionId::ShowSettings);
    QDialog* settings = dialog();
    QVERIFY(settings);
    keep(QStringLiteral("settings"), settings);
    settings->close();
}

void PicturesTest::the_privacy_page_is_drawn()
{
    program_->trigger(ActionId::Privacy);
    QDialog* about = dialog();
    QVERIFY(about);
    keep(QStringLiteral("privacy"), about);
    about->close();
}

namespace {

// The open list of a combo box is a separate window, which the offscreen platform puts anywhere: draws it below the
// box.
QImage with_open_list(QWidget& window, QComboBox& box)
{
    box.showPopup();
    QWidget* list = box.view()->window();
    if (!QTest::qWaitForWindowExposed(list, ui::test::patience_ms)) return {};
    QImage image = window.grab().toImage();
    const QPoint below = box.mapTo(&window, QPoint(0, box.height()));
    QPainter(&image).drawPixmap(std::min(below.x(), window.width() - list->width()), below.y(), list->grab());
    box.hidePopup();
    return image;
}

} // namespace

// The first start after packaging/bootstrap has fetched a model: PALIMPSEST_PICTURES_MODEL names its file.
void PicturesTest::first_start_with_a_model()
{
    const QFileInfo model(qEnvironmentVariable("PALIMPSEST_PICTURES_MODEL"));
    if (!model.isFile()) QSKIP("PALIMPSEST_PICTURES_MODEL names no file of a model");
    constexpr int slow_ms = 3'000'000; // enough for a whole book on any machine
    program_.reset();
    const QTemporaryDir home;
    qputenv("XDG_DATA_HOME", QFile::encodeName(home.path())); // keeps this model out of other tests
    const QDir installed(QString::fromStdString(storage::models_folder().string()));
    QVERIFY(installed.mkpath(QStringLiteral(".")));
    QVERIFY(QFile::link(model.absoluteFilePath(), installed.filePath(model.fileName())));
    program_ = std::make_unique<Program>(
        home.path(), QString::fromStdString(palimpsest::tests::source_file("resources/samples/ashford-light.md")));
    Preferences preferences = program_->window().preferences();
    preferences.sampling.temperature = 0; // the same pictures every time
    program_->window().change_preferences(preferences);
    program_->bench().begin({});
    QVERIFY(program_->settle(slow_ms));
    program_->window().tour()->leave();
    QVERIFY(program_->comes_to_rest());
    auto* models = program_->window().findChild<ModelBar*>()->findChildren<QComboBox*>().first();
    QVERIFY2(models->currentText().contains(model.completeBaseName()), qPrintable(models->currentText()));
    keep_picture(program_->window().grab().toImage(), QStringLiteral("first-start-page"));
    keep_picture(with_open_list(program_->window(), *models), QStringLiteral("first-start-models"));

    program_->window().open_paths({program_->window().places().sample});
    QVERIFY(program_->settle(slow_ms));
    for (const auto& [question, name] : {std::pair("What is this text about?", "first-start-summary"),
                                         std::pair("Who kept the light after the storm?", "first-start-answer")}) {
        program_->say(QString::fromLatin1(question));
        QVERIFY(program_->settle(slow_ms));
        QCOMPARE(program_->failures(), QStringList());
        QVERIFY(program_->comes_to_rest());
        qInfo("%s", qPrintable(program_->facts()->turns.back().text));
        keep_picture(program_->window().grab().toImage(), QLatin1String(name));
    }
}

} // namespace palimpsest::tests

QTEST_MAIN(palimpsest::tests::PicturesTest)
#include "pictures_test.moc"
