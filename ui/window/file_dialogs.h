// The main window's dialogs that ask for a file: documents, a model, exported sessions. Each is modal and emits
// a signal with the choice, or none if it is cancelled.
#pragma once

#include <QObject>
#include <QStringList>

class QWidget;

namespace palimpsest::ui {

class FileDialogs : public QObject {
    Q_OBJECT
public:
    explicit FileDialogs(QWidget* window); // `window` owns this object

    void ask_for_documents(const QString& folder);
    void ask_for_folder(const QString& folder); // of documents
    void ask_for_model(const QString& folder);
    void ask_for_import();
    void ask_where_to_export(const QString& session); // without a session: does nothing

Q_SIGNALS:
    void documents_chosen(const QStringList& files);
    void folder_chosen(const QString& folder);
    void model_chosen(const QString& model); // a file, or the folder of a model
    void import_chosen(const QString& file);
    void export_chosen(const QString& session, const QString& file);

private:
    QWidget* window_;
};

} // namespace palimpsest::ui
