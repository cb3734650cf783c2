// Prevents the machine from sleeping while a document is read. Does nothing on systems without logind.
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

    // Asynchronous: sends a request to logind and does not wait for the reply.
    void set_wanted(bool wanted, const QString& why);
    bool holds() const { return lock_ != nullptr; }

private:
    void ask(const QString& why);

    bool wanted_ = false;
    std::unique_ptr<QDBusUnixFileDescriptor> lock_; // closing it releases the inhibition
};

} // namespace palimpsest::ui
