// Keeps the machine awake while a document is read. Where nobody can be asked for that, nothing happens.
#pragma once

#include <QObject>
#include <memory>

class QDBusUnixFileDescriptor;

namespace palimpsest::ui {

class SleepInhibitor : public QObject {
    Q_OBJECT
public:
    explicit SleepInhibitor(QObject* parent = nullptr);
    ~SleepInhibitor() override;

    // Asks the system's login manager; never waits for its answer.
    void set_wanted(bool wanted, const QString& why);
    bool holds() const { return lock_ != nullptr; }

private:
    void ask(const QString& why);

    bool wanted_ = false;
    std::unique_ptr<QDBusUnixFileDescriptor> lock_; // the machine may sleep once it is closed
};

} // namespace palimpsest::ui
