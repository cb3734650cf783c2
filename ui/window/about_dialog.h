// The "About" dialog: the version, the licences of the libraries, and the places where the program stores data.
#pragma once

#include <QDialog>
#include <vector>

#include "ui/window/stored_places.h"

namespace palimpsest::ui {

enum class AboutPage { Program, Privacy, Licences };

class AboutDialog : public QDialog {
    Q_OBJECT
public:
    AboutDialog(const QString& version, const std::vector<StoredPlace>& places, AboutPage page, QWidget* parent);
};

} // namespace palimpsest::ui
