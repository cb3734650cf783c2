#include "ui/base/file_writer.h"

#include <QSaveFile>
#include <array>
#include <new>
#include <streambuf>

#include "kernels/base/error.h"
#include "ui/base/wording.h"

namespace palimpsest::ui {
namespace {

class DeviceBuffer final : public std::streambuf {
public:
    DeviceBuffer(QIODevice& device, const std::stop_token& stop) : device_(device), stop_(stop) { begin(); }

protected:
    int_type overflow(int_type next) override
    {
        if (sync() != 0) return traits_type::eof();
        if (!traits_type::eq_int_type(next, traits_type::eof())) sputc(traits_type::to_char_type(next));
        return traits_type::not_eof(next);
    }
    int sync() override
    {
        const qint64 size = pptr() - pbase();
        if (stop_.stop_requested() || device_.write(pbase(), size) != size) return -1;
        begin();
        return 0;
    }

private:
    void begin() { setp(buffer_.data(), buffer_.data() + buffer_.size()); }

    QIODevice& device_;
    const std::stop_token& stop_;
    std::array<char, 65536> buffer_;
};

QString trouble_of(const QString& file, const FileContent& content, const std::stop_token& stop)
{
    const Text name = Text::escaped(file.toStdString());
    try {
        write_file(file, content, stop);
        return {};
    } catch (const Error& error) {
        return shown(error);
    } catch (const std::bad_alloc&) {
        return shown(Error(ErrorKind::Resources, ErrorCode::OutOfMemory, name,
                           Text("there is not enough memory to write it"),
                           Text("close other programs, and try again")));
    } catch (const std::exception& error) {
        return shown(Error(ErrorKind::Internal, ErrorCode::Internal, name, Text::verbatim(error.what()),
                           Text("this is a bug; please report it")));
    }
}

} // namespace

void write_file(const QString& file, const FileContent& content, const std::stop_token& stop)
{
    QSaveFile out(file);
    const auto fail = [&](ErrorKind kind, ErrorCode code, Text remedy) {
        throw Error(kind, code, Text::escaped(file.toStdString()),
                    Text("it cannot be written ({0})", out.errorString().toStdString()), std::move(remedy));
    };
    if (!out.open(QIODevice::WriteOnly))
        fail(ErrorKind::Failed, ErrorCode::InaccessibleFile, Text("check the folder and its permissions"));
    DeviceBuffer buffer(out, stop);
    std::ostream stream(&buffer);
    stream.exceptions(std::ios::badbit); // throw on a failed write, so that `content` stops formatting
    try {
        content(stream);
        stream.flush();
    } catch (const std::ios::failure&) {
        // `stop` was requested or the disk is full; the next lines handle either.
    }
    if (stop.stop_requested()) return;
    if (!stream || !out.commit())
        fail(ErrorKind::Resources, ErrorCode::DiskFull, Text("make room there, or choose another place"));
}

FileWriter::FileWriter(QObject* parent) : QObject(parent)
{
    pool_.setMaxThreadCount(1);
}

FileWriter::~FileWriter()
{
    stop_.request_stop();
    pool_.waitForDone();
}

void FileWriter::write(const QString& file, FileContent content)
{
    pool_.start([this, file, content = std::move(content), stop = stop_.get_token()] {
        if (stop.stop_requested()) return;
        const QString trouble = trouble_of(file, content, stop);
        QMetaObject::invokeMethod(
            this, [=, this] { Q_EMIT ended(file, trouble); }, Qt::QueuedConnection);
    });
}

} // namespace palimpsest::ui
