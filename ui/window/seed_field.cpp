#include "ui/window/seed_field.h"

#include <QValidator>
#include <algorithm>

namespace palimpsest::ui {
namespace {

class SeedValidator final : public QValidator {
public:
    using QValidator::QValidator;

    State validate(QString& text, int&) const override
    {
        const auto is_digit = [](QChar c) { return c >= u'0' && c <= u'9'; };
        bool fits = text.isEmpty();
        if (!fits) text.toULongLong(&fits);
        return fits && std::all_of(text.begin(), text.end(), is_digit) ? Acceptable : Invalid;
    }
};

} // namespace

SeedField::SeedField(uint64_t seed, QWidget* parent) : QLineEdit(QString::number(seed), parent)
{
    setValidator(new SeedValidator(this));
    setPlaceholderText(QStringLiteral("0"));
}

} // namespace palimpsest::ui
