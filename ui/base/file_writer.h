// Files that the window writes: in one go, and on a thread of their own where they take long.
#pragma once

#include <QObject>
#include <QString>
#include <QThreadPool>
#include <functional>
#include <ostream>
#include <stop_token>

namespace palimpsest::ui {

using FileContent = std::function<void(std::ostream& out)>; // writes all of it; may throw

// What was there stays until all is written, and if `stop` is requested meanwhile. Throws Error (Failed,
// PAL-DISK-03) where nothing can be written, (Resources, PAL-DISK-01) where not all could be, and what `content`
// throws.
void write_file(const QString& file, const FileContent& content, const std::stop_token& stop = {});

// One file after the other, while the window goes on.
class FileWriter final : public QObject {
    Q_OBJECT
public:
    explicit FileWriter(QObject* parent = nullptr);
    ~FileWriter() override; // stops what is not written yet, which is as if it had not been begun

    // `content` runs on another thread, and must own what it needs.
    void write(const QString& file, FileContent content);

Q_SIGNALS:
    void ended(const QString& file, const QString& trouble); // a sentence if it could not be written, else empty

private:
    QThreadPool pool_;
    std::stop_source stop_;
};

} // namespace palimpsest::ui
