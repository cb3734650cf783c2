// An input field for a seed of 64 bits; QSpinBox has only 32.
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
