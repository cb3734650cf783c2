// An input field for a 64-bit seed, whose range exceeds that of QSpinBox.
#pragma once

#include <QLineEdit>
#include <cstdint>

namespace palimpsest::ui {

class SeedField : public QLineEdit {
    Q_OBJECT
public:
    explicit SeedField(uint64_t seed, QWidget* parent = nullptr);

    uint64_t seed() const { return text().toULongLong(); } // empty field: 0
};

} // namespace palimpsest::ui
