#include "ui/window/model_bar.h"

#include <QComboBox>
#include <QDir>
#include <QLabel>
#include <algorithm>

#include "storage/models/model_finder.h"
#include "ui/base/icon.h"
#include "ui/base/utf8.h"
#include "ui/base/wording.h"
#include "ui/window/actions.h"
#include "ui/window/device_choice.h"
#include "ui/window/file_kind.h"

namespace palimpsest::ui {
namespace {

// Data of the two entries that are not models; no path has these values.
const QString other = QStringLiteral("?"), make_default = QStringLiteral("!");

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

void ModelBar::set_choice(const ModelChoiceRequest& choice, const QString& models_folder)
{
    const bool is_elsewhere = folder_ != models_folder;
    const bool has_no_name = choice_.model != choice.model && !choice.model.isEmpty() && !is_known(choice.model);
    choice_ = choice;
    folder_ = models_folder;
    if (is_elsewhere)
        refresh_area();
    else if (has_no_name)
        look(); // keeps the current list during the search
    fill_models();
    devices_->clear();
    fill_devices(*devices_, choice.device);
}

void ModelBar::refresh_area()
{
    found_.reset();
    look();
}

void ModelBar::look()
{
    ModelQuery wanted{.folders = elsewhere_, .chosen = choice_.model};
    wanted.folders.own = folder_.toStdString();
    search_.look_in(wanted);
}

bool ModelBar::is_known(const QString& path) const
{
    if (path == shipped_) return true;
    if (!found_) return false;
    return found_->names.count(path) > 0 ||
           std::any_of(found_->models.begin(), found_->models.end(),
                       [&](const storage::FoundModel& model) { return text_of(model.path.string()) == path; });
}

// Returns the display name if the search has found it, otherwise the file name. Does not read a manifest itself,
// because the disk may be slow.
QString ModelBar::name_of(const QString& path) const
{
    if (!found_) return model_name(path);
    const auto at = found_->names.find(path);
    return at == found_->names.end() ? model_name(path) : at->second;
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
        models_->addItem(name_of(choice_.model), choice_.model);
    models_->setCurrentIndex(models_->findData(choice_.model));
    models_->insertSeparator(models_->count());
    models_->addItem(tr("Another model…"), other);
    if (!choice_.model.isEmpty()) models_->addItem(tr("Make this model the default"), make_default);
}

// Adds the entry of the default model, whose data is an empty path: the default of the command, or the shipped
// model.
void ModelBar::add_default()
{
    if (!found_)
        models_->addItem(tr("Looking for models…"), QString());
    else if (found_->default_error)
        add_missing_default();
    else if (has_other_default())
        models_->addItem(tr("%1 (default)").arg(name_of(found_->default_model)), QString());
    const bool is_default = found_ && !found_->default_error && !has_other_default();
    if (!shipped_.isEmpty())
        models_->addItem(tr("%1 (shipped)").arg(name_of(shipped_)), is_default ? QString() : shipped_);
}

bool ModelBar::has_other_default() const
{
    return !found_->default_model.isEmpty() && found_->default_model != shipped_;
}

void ModelBar::add_missing_default()
{
    const QString& set = found_->default_model;
    const QString name = QDir::isAbsolutePath(set) ? name_of(set) : set;
    models_->addItem(set.isEmpty() ? tr("The default cannot be read") : tr("%1 (missing)").arg(name), QString());
    models_->setItemData(models_->count() - 1, shown(*found_->default_error), Qt::ToolTipRole);
}

void ModelBar::add_found_models()
{
    if (!found_) return;
    for (const storage::FoundModel& model : found_->models) {
        const QString name = text_of(model.name), path = text_of(model.path.string());
        if (model.source == storage::ModelSource::Shipped || path == found_->default_model) continue;
        const bool is_ours = model.source == storage::ModelSource::Own;
        models_->addItem(is_ours ? name : QStringLiteral("%1 (%2)").arg(name, shown(source_name(model.source))),
                         path);
        models_->setItemData(models_->count() - 1, path, Qt::ToolTipRole);
    }
}

void ModelBar::choose_model(int index)
{
    const QString path = models_->itemData(index).toString();
    if (path == other) {
        // Shows the previous choice until the user has chosen a file.
        models_->setCurrentIndex(models_->findData(choice_.model));
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
