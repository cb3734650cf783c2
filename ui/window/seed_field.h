// A seed of 64 bits, which no spin box holds.
#pragma once

#include <QLineEdit>
#include <cstdint>

namespace palimpsest::ui {

class SeedField : public QLineEdit {
    Q_OBJECT
public:
    explicit SeedField(uint64_t seed, QWidget* parent = nullptr);

    uint64_t seed() const { return text().toULongLong(); } // nothing: 0
};

} // namespace palimpsest::ui
