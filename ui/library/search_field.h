// The field of the library for words. Escape clears it; while it is empty, the window handles that key.
#pragma once

#include <QLineEdit>

namespace palimpsest::ui {

class SearchField : public QLineEdit {
    Q_OBJECT
public:
    explicit SearchField(QWidget* parent = nullptr);

    bool has_search() const; // whether what is typed is long enough to be searched for

Q_SIGNALS:
    void left_downwards(); // by the Down key

protected:
    bool event(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
};

} // namespace palimpsest::ui
