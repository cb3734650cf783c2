// Writes files atomically, in the calling thread or, for long files, in a worker thread (FileWriter).
#pragma once

#include <QObject>
#include <QString>
#include <QThreadPool>
#include <functional>
#include <ostream>
#include <stop_token>

namespace palimpsest::ui {

using FileContent = std::function<void(std::ostream& out)>; // writes the whole content; may throw

// Replaces the file only after all of its content is written; an existing file stays as it is if `stop` is
// requested or an error occurs. Throws Error (Failed, PAL-DISK-03) if the file cannot be opened, (Resources,
// PAL-DISK-01) if not all of it can be written, and rethrows what `content` throws.
void write_file(const QString& file, const FileContent& content, const std::stop_token& stop = {});

// Writes files one after the other on a worker thread, without blocking the event loop.
class FileWriter final : public QObject {
    Q_OBJECT
public:
    explicit FileWriter(QObject* parent = nullptr);
    ~FileWriter() override; // cancels unfinished files; existing files stay as they are

    // `content` runs on the worker thread and must own what it captures.
    void write(const QString& file, FileContent content);

Q_SIGNALS:
    void ended(const QString& file, const QString& trouble); // `trouble`: error sentence, empty on success

private:
    QThreadPool pool_;
    std::stop_source stop_;
};

} // namespace palimpsest::ui
