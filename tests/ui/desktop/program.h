// The whole program offscreen: window, areas and engine thread, with its data in one folder.
#pragma once

#include <QFile>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>

#include "storage/session/model_choice.h"
#include "tests/support/project_folders.h"
#include "tests/ui/support/at_rest.h"
#include "tests/ui/support/patience.h"
#include "tests/ui/support/sanitized.h"
#include "ui/chat/chat_page.h"
#include "ui/chat/chat_view.h"
#include "ui/chat/composer.h"
#include "ui/chat/question_field.h"
#include "ui/desktop/areas.h"
#include "ui/desktop/workbench.h"
#include "ui/document/document_page.h"
#include "ui/document/document_view.h"
#include "ui/map/view.h"
#include "ui/policy/policy_panel.h"

namespace palimpsest::tests {

using ui::test::sized;

// Writes the first bytes of the shipped sample, up to the end of a paragraph, to a file, and returns its path.
inline QString part_of_sample(const QTemporaryDir& folder, qint64 bytes)
{
    QFile sample(QString::fromStdString(palimpsest::tests::source_file("resources/samples/ashford-light.md")));
    if (!sample.open(QIODevice::ReadOnly)) return {};
    QByteArray part = sample.read(bytes);
    part.truncate(part.lastIndexOf("\n\n") + 2);
    QFile file(folder.filePath(QStringLiteral("Ashford Light.md")));
    return file.open(QIODevice::WriteOnly) && file.write(part) == part.size() ? file.fileName() : QString();
}

class Program {
public:
    explicit Program(const QString& folder, const QString& sample = {})
        : store_(folder + QStringLiteral("/preferences.ini")), engine_(folder + QStringLiteral("/palimpsest.db")),
          window_(areas_.makers(), places(folder, sample), store_), bench_(window_, engine_, store_)
    {
        areas_.join(bench_);
        QObject::connect(&engine_, &ui::EngineThread::failed, &window_,
                         [this](quint64, const ui::Failure& failure) { failures_ << failure.sentence; });
        window_.resize(1280, 800);
        window_.show();
    }

    ui::MainWindow& window() { return window_; }
    ui::EngineThread& engine() { return engine_; }
    ui::Areas& areas() { return areas_; }
    ui::Workbench& bench() { return bench_; }
    ui::PreferenceStore& store() { return store_; }
    const QStringList& failures() const { return failures_; }
    std::shared_ptr<const ui::SessionFacts> facts() const { return bench_.session(); }

    // Waits until nothing runs or is queued, and the window has the newest frame.
    bool settle(int milliseconds = 180000)
    {
        const bool settled = ui::test::eventually(
            [&] { return engine_.is_idle() && bench_.frame() == engine_.frame(); }, milliseconds);
        QCoreApplication::processEvents(); // delivers signals that are not frames
        return settled;
    }
    // Waits until the areas are loaded, laid out and painted.
    bool comes_to_rest() { return ui::test::comes_to_rest(window_); }
    void say(const QString& question)
    {
        QWidget* field = areas_.chat()->composer()->field();
        field->setFocus();
        QTest::keyClicks(field, question);
        QTest::keyClick(field, Qt::Key_Return);
    }
    void trigger(ui::ActionId id) { window_.actions()[id]->trigger(); }

private:
    static ui::WindowPlaces places(const QString& folder, const QString& sample)
    {
        return {.database = folder + QStringLiteral("/palimpsest.db"),
                .shipped_model = QString::fromStdString(storage::shipped_model().string()),
                .sample = sample,
                .models_folder = folder + QStringLiteral("/models"),
                .version = QStringLiteral("test"),
                .languages = {}};
    }

    ui::PreferenceStore store_;
    ui::EngineThread engine_;
    ui::Areas areas_;
    ui::MainWindow window_;
    ui::Workbench bench_;
    QStringList failures_;
};

} // namespace palimpsest::tests
