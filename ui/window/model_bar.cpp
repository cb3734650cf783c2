#include "ui/window/model_bar.h"

#include <QComboBox>
#include <QLabel>

#include "storage/models/model_finder.h"
#include "ui/base/icon.h"
#include "ui/window/actions.h"
#include "ui/window/device_choice.h"
#include "ui/window/file_kind.h"

namespace palimpsest::ui {
namespace {

const QString other = QStringLiteral("?"), make_default = QStringLiteral("!"); // no paths

QString text_of(const std::string& utf8)
{
    return QString::fromUtf8(utf8.data(), static_cast<qsizetype>(utf8.size()));
}

QComboBox* make_box(const QString& name, QWidget* parent)
{
    auto* box = new QComboBox(parent);
    box->setAccessibleName(name);
    box->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    box->setMaximumWidth(box->fontMetrics().averageCharWidth() * 52); // names of real models are long
    return box;
}

} // namespace

ModelBar::ModelBar(const Actions& actions, const WindowPlaces& places, QWidget* parent)
    : QToolBar(tr("Model and device"), parent), shipped_(places.shipped_model), search_(places.find_models),
      elsewhere_(places.other_models), models_(make_box(tr("Model"), this)), devices_(make_box(tr("Device"), this))
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
    connect(&search_, &ModelSearch::found, this, &ModelBar::show_found);
    set_loaded({}, {});
}

void ModelBar::set_choice(const ModelChoiceWish& choice, const QString& models_folder)
{
    const bool is_elsewhere = folder_ != models_folder;
    choice_ = choice;
    folder_ = models_folder;
    if (is_elsewhere) look_again();
    fill_models();
    devices_->clear();
    fill_devices(*devices_, choice.device);
}

void ModelBar::look_again()
{
    storage::ModelFolders folders = elsewhere_;
    folders.own = folder_.toStdString();
    found_.reset();
    search_.look_in(folders);
}

void ModelBar::show_found(const ModelsHere& models)
{
    found_ = models;
    fill_models();
}

void ModelBar::fill_models()
{
    models_->clear();
    add_default();
    add_found_models();
    if (!choice_.model.isEmpty() && models_->findData(choice_.model) < 0)
        models_->addItem(model_name(choice_.model), choice_.model);
    models_->setCurrentIndex(models_->findData(choice_.model));
    models_->insertSeparator(models_->count());
    models_->addItem(tr("Another model…"), other);
    if (!choice_.model.isEmpty()) models_->addItem(tr("Make this model the default"), make_default);
}

// An empty choice means the default: that of the command, or the shipped model.
void ModelBar::add_default()
{
    const QString path = found_ && found_->default_model != shipped_ ? found_->default_model : QString();
    if (!found_)
        models_->addItem(tr("Looking for models…"), QString());
    else if (!path.isEmpty())
        models_->addItem(tr("%1 (default)").arg(text_of(storage::model_name(path.toStdString()))), QString());
    if (!shipped_.isEmpty())
        models_->addItem(tr("%1 (shipped)").arg(model_name(shipped_)),
                         found_ && path.isEmpty() ? QString() : shipped_);
}

void ModelBar::add_found_models()
{
    if (!found_) return;
    for (const storage::FoundModel& model : found_->models) {
        const QString name = text_of(model.name), path = text_of(model.path.string());
        if (model.source == storage::ModelSource::Shipped || path == found_->default_model) continue;
        const bool is_ours = model.source == storage::ModelSource::Own;
        models_->addItem(is_ours ? name : QStringLiteral("%1 (%2)").arg(name, text_of(source_name(model.source))),
                         path);
        models_->setItemData(models_->count() - 1, path, Qt::ToolTipRole);
    }
}

void ModelBar::choose_model(int index)
{
    const QString path = models_->itemData(index).toString();
    if (path == other) {
        models_->setCurrentIndex(models_->findData(choice_.model)); // until one is chosen
        Q_EMIT other_model_wanted();
    } else if (path == make_default) {
        models_->setCurrentIndex(models_->findData(choice_.model));
        Q_EMIT default_wanted(choice_.model);
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
