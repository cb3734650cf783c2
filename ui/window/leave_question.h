// Asks before the window closes while it has turns that could not be saved and would be lost.
#pragma once

#include <QMessageBox>

namespace palimpsest::ui {

class LeaveQuestion : public QMessageBox {
    Q_OBJECT
public:
    // `sentence`: why the turns could not be saved. Deletes itself when it is closed.
    LeaveQuestion(const QString& sentence, QWidget* window);

Q_SIGNALS:
    void leave_wanted();
};

} // namespace palimpsest::ui
