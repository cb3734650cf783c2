#include "ui/engine/failure.h"

#include <new>
#include <string_view>
#include <vector>

namespace palimpsest::ui {
namespace {

QString text_of(const std::string& utf8)
{
    return QString::fromUtf8(utf8.data(), static_cast<qsizetype>(utf8.size()));
}

struct Remedy {
    std::string_view code;
    QString text;
};

// For errors whose own remedy names a command-line option and which can occur in the window.
std::vector<Remedy> remedies()
{
    return {
        {"PAL-BUDGET-01", EngineThread::tr("choose a smaller budget or chunk")},
        {"PAL-BUDGET-02", EngineThread::tr("choose a policy with a budget")},
        {"PAL-BUDGET-03", EngineThread::tr("read its document in a new session")},
        {"PAL-DB-01",
         EngineThread::tr("check the folder and its permissions, or choose another database in the settings")},
        {"PAL-DB-02", EngineThread::tr("it was left as it is; choose another file")},
        {"PAL-DB-03", EngineThread::tr("export what is left of it, or choose another database in the settings")},
        {"PAL-DB-05", EngineThread::tr("update Palimpsest, or choose another database in the settings")},
        {"PAL-DB-07", EngineThread::tr("close it, or choose another database in the settings")},
        {"PAL-DOC-00", EngineThread::tr("choose one in the library")},
        {"PAL-DOC-06", EngineThread::tr("open it in a new session")},
        {"PAL-GPU-02", EngineThread::tr("choose a smaller budget, chunk or model, or the processor as device")},
        {"PAL-GPU-03", EngineThread::tr("restart Palimpsest to use it again, or choose the processor as device")},
        {"PAL-GPU-04", EngineThread::tr("choose the processor as device")},
        {"PAL-MEM-01", EngineThread::tr("give the budget more memory, or choose a smaller chunk")},
        {"PAL-MEM-02", EngineThread::tr("choose a smaller budget, chunk or model, or the processor as device")},
        {"PAL-MODEL-00", EngineThread::tr("choose another model in the tool bar")},
        {"PAL-MODEL-13", EngineThread::tr("choose another model in the tool bar")},
        {"PAL-POLICY-04", EngineThread::tr("choose another budget or chunk")},
        {"PAL-SESSION-01", EngineThread::tr("choose one in the library")},
        {"PAL-SESSION-03", EngineThread::tr("let it go on first: Session, Go on reading")},
        {"PAL-SESSION-08", EngineThread::tr("save it as a text file, and open that as a document")},
        {"PAL-SNAP-02",
         EngineThread::tr(
             "its text is safe; choose the model that it was begun with, or open its document in a new session")},
    };
}

bool is_for_the_command(const std::string& remedy)
{
    return remedy.find("--") != std::string::npos || remedy.find("palimpsest ") != std::string::npos;
}

// Removes the dashes of a command-line option: "--budget".
QString subject_of(const Error& error)
{
    const QString subject = text_of(error.subject());
    return subject.startsWith(QStringLiteral("--")) ? subject.mid(2) : subject;
}

} // namespace

QString window_sentence(const Error& error)
{
    QString remedy = text_of(error.remedy());
    if (is_for_the_command(error.remedy()))
        for (const Remedy& known : remedies())
            if (known.code == error.code()) remedy = known.text;
    if (!remedy.isEmpty()) remedy.prepend(QStringLiteral("; "));
    return QStringLiteral("%1: %2%3 [%4]")
        .arg(subject_of(error), text_of(error.text()), remedy, text_of(error.code()));
}

Failure failure_of(const std::exception& error)
{
    if (const auto* known = dynamic_cast<const Error*>(&error))
        return {text_of(known->code()), window_sentence(*known), known->code().starts_with("PAL-MODEL")};
    if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr)
        return {QStringLiteral("PAL-MEM-01"), EngineThread::tr("There is not enough memory for this; choose a "
                                                               "smaller budget or a smaller model.")};
    return {QStringLiteral("PAL-INTERNAL"), text_of(error.what())};
}

QStringList codes_with_remedy()
{
    QStringList codes;
    for (const Remedy& remedy : remedies())
        codes << QString::fromLatin1(remedy.code.data());
    return codes;
}

} // namespace palimpsest::ui
