#include "ui/window/start.h"

#include <QApplication>
#include <QDir>
#include <QFileInfo>
#include <QLibraryInfo>
#include <QLocale>
#include <QTranslator>

#include "storage/session/model_choice.h"
#include "storage/session/store.h"

// Q_INIT_RESOURCE declares a function and must be used outside of any namespace.
static void take_translations()
{
    Q_INIT_RESOURCE(translations);
}

namespace palimpsest::ui {
namespace {

const QString translations = QStringLiteral(":/translations");

QString text_of(const std::filesystem::path& path)
{
    return QString::fromStdString(path.string());
}

QString if_there(const QString& file)
{
    return QFileInfo::exists(file) ? file : QString();
}

// Returns the path of the sample document next to `model`, in an installation or a build tree; empty if there is
// none.
QString sample_beside(const QString& model)
{
    const QDir folder = QFileInfo(model).dir();
    for (const char* place : {"samples/ashford-light.md", "../samples/ashford-light.md"})
        if (const QString file = folder.filePath(QLatin1String(place)); !model.isEmpty() && QFileInfo::exists(file))
            return QDir::cleanPath(file);
    return {};
}

QStringList languages()
{
    take_translations();
    QStringList codes;
    for (const QString& file : QDir(translations).entryList({QStringLiteral("palimpsest_*.qm")}))
        codes.append(file.section(u'_', 1).section(u'.', 0, 0));
    return codes;
}

} // namespace

WindowPlaces find_places(const Preferences& preferences)
{
    const QString model = if_there(text_of(storage::shipped_model()));
    return {.database = text_of(storage::database_file(preferences.database.toStdString())),
            .shipped_model = model,
            .sample = sample_beside(model),
            .models_folder = text_of(storage::models_folder()),
            .version = {},
            .languages = languages(),
            .other_models = storage::model_folders()};
}

void translate(QApplication& application, const Preferences& preferences)
{
    take_translations();
    const QLocale locale = preferences.language.isEmpty() ? QLocale() : QLocale(preferences.language);
    QLocale::setDefault(locale);
    const auto load = [&](const QLocale& of, const QString& name, const QString& folder) {
        auto* translator = new QTranslator(&application);
        const bool found = translator->load(of, name, QStringLiteral("_"), folder);
        if (found)
            application.installTranslator(translator);
        else
            delete translator;
        return found;
    };
    load(locale, QStringLiteral("qtbase"), QLibraryInfo::path(QLibraryInfo::TranslationsPath));
    const QString own = QStringLiteral("palimpsest");
    if (!load(locale, own, translations)) load(QLocale::English, own, translations); // has the English plural forms
    application.setLayoutDirection(locale.textDirection());
}

StartRequest start_request(const QStringList& files)
{
    StartRequest request{{}, qgetenv("XDG_ACTIVATION_TOKEN")};
    for (const QString& file : files)
        request.files.append(QFileInfo(file).absoluteFilePath());
    return request;
}

} // namespace palimpsest::ui
