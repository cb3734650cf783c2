#include "kernels/base/error.h"

namespace palimpsest {

namespace {

// "SUBJECT: what; remedy [CODE]"
std::string join(std::string subject, const std::string& what, const std::string& remedy, ErrorCode code)
{
    subject += ": " + what;
    if (!remedy.empty()) subject += "; " + remedy;
    subject += " [";
    subject += name_of(code);
    return subject + "]";
}

} // namespace

Error::Error(ErrorKind kind, ErrorCode code, Text subject, Text what, Text remedy, std::optional<uint64_t> offset)
    : kind_(kind), code_(code), subject_(std::move(subject)), text_(std::move(what)), remedy_(std::move(remedy)),
      sentence_(join(subject_.english(), text_.english(), remedy_.english(), code_)), offset_(offset)
{
}

std::string Error::sentence(const Wording& wording) const
{
    return join(subject_.in(wording), text_.in(wording), remedy_.in(wording), code_);
}

Text sentence_of(const Error& error)
{
    if (error.remedy().empty()) return Text("{0}: {1} [{2}]", error.subject(), error.text(), name_of(error.code()));
    return Text("{0}: {1}; {2} [{3}]", error.subject(), error.text(), error.remedy(), name_of(error.code()));
}

} // namespace palimpsest
