#include "ui/window/model_bar.h"

#include <QComboBox>
#include <QLabel>

#include "ui/base/icon.h"
#include "ui/window/actions.h"
#include "ui/window/device_choice.h"
#include "ui/window/file_kind.h"

namespace palimpsest::ui {
namespace {

const QString other = QStringLiteral("?"); // no path

QComboBox* make_box(const QString& name, QWidget* parent)
{
    auto* box = new QComboBox(parent);
    box->setAccessibleName(name);
    box->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    box->setMaximumWidth(box->fontMetrics().averageCharWidth() * 36);
    return box;
}

} // namespace

ModelBar::ModelBar(const Actions& actions, const QString& shipped_model, QWidget* parent)
    : QToolBar(tr("Model and device"), parent), shipped_(shipped_model), models_(make_box(tr("Model"), this)),
      devices_(make_box(tr("Device"), this))
{
    setObjectName(QStringLiteral("model_bar"));
    setAccessibleName(windowTitle());
    setMovable(false);
    setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    const int side = fontMetrics().height();
    setIconSize(QSize(side, side));
    addAction(actions[ActionId::OpenFiles]);
    addAction(actions[ActionId::NewSession]);
    auto* space = new QWidget(this);
    space->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Preferred);
    addWidget(space);
    addWidget(models_);
    addWidget(devices_);
    connect(models_, &QComboBox::activated, this, &ModelBar::choose_model);
    connect(devices_, &QComboBox::activated, this,
            [this](int index) { Q_EMIT device_wanted(devices_->itemData(index).toString()); });
    set_loaded({}, {});
}

void ModelBar::set_choice(const ModelChoiceWish& choice, const QString& models_folder)
{
    choice_ = choice;
    folder_ = models_folder;
    fill_models();
    devices_->clear();
    fill_devices(*devices_, choice.device);
}

void ModelBar::fill_models()
{
    models_->clear();
    if (!shipped_.isEmpty()) models_->addItem(tr("%1 (shipped)").arg(model_name(shipped_)), QString());
    for (const QString& path : models_in(folder_))
        models_->addItem(model_name(path), path);
    if (!choice_.model.isEmpty() && models_->findData(choice_.model) < 0)
        models_->addItem(model_name(choice_.model), choice_.model);
    models_->setCurrentIndex(models_->findData(choice_.model));
    models_->insertSeparator(models_->count());
    models_->addItem(tr("Another model…"), other);
}

void ModelBar::choose_model(int index)
{
    const QString path = models_->itemData(index).toString();
    if (path == other) {
        models_->setCurrentIndex(models_->findData(choice_.model)); // until one is chosen
        Q_EMIT other_model_wanted();
    } else if (path != choice_.model) {
        Q_EMIT model_wanted(path);
    }
}

void ModelBar::set_loaded(const QString& name, const QString& device)
{
    const QString state = name.isEmpty() ? tr("No model is loaded") : tr("%1 is loaded, on %2").arg(name, device);
    for (QComboBox* box : {models_, devices_}) {
        box->setToolTip(state);
        box->setAccessibleDescription(state);
    }
}

} // namespace palimpsest::ui
