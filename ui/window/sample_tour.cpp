#include "ui/window/sample_tour.h"

#include <QCoreApplication>

namespace palimpsest::ui {
namespace {

struct TourWords {
    Q_DECLARE_TR_FUNCTIONS(palimpsest::ui::SampleTour)
};

} // namespace

std::vector<TourStep> sample_tour(const TourAreas& areas)
{
    const QString question = TourWords::tr("Who kept the light after the storm?");
    return {
        {.title = TourWords::tr("Documents and sessions"),
         .text = TourWords::tr(
             "Everything that was read is here. Drop a document anywhere on the window, or open one: it streams "
             "into a memory of fixed size, however long it is. Closed and opened again, it goes on in a moment."),
         .area = areas.library,
         .task = TourTask::Read,
         .offer = areas.has_sample ? TourWords::tr("&Read the sample") : QString(),
         .do_offer = areas.read_sample},
        {.title = TourWords::tr("Questions and answers"),
         .text = TourWords::tr(
             "Ask about what was read, also while it is still being read: a question is then answered from what "
             "was "
             "read so far, and again at the end. Each answer tells how much of the document it rests on."),
         .area = areas.chat,
         .task = TourTask::Ask,
         .offer = areas.has_sample ? TourWords::tr("&Ask: %1").arg(question) : QString(),
         .do_offer = [ask = areas.ask, question] { ask(question); }},
        {.title = TourWords::tr("The document as it is remembered"),
         .text = TourWords::tr(
             "The text as it was read. Every token is shaded by how much of it is still held; a slider shows "
             "how the memory faded. A passage that must not fade can be pinned, at a price that is said."),
         .area = areas.document},
        {.title = TourWords::tr("Retained tokens"),
         .text = TourWords::tr(
             "Token by token from left to right, layer by layer from bottom to top: what is kept now. Zoom with "
             "the wheel or with plus and minus, move with the arrow keys; it is live while something is read."),
         .area = areas.map},
        {.title = TourWords::tr("Memory"),
         .text = TourWords::tr(
             "What the cache has allocated, beside what a cache that keeps every token would take. The one is a "
             "flat line, the other is not: that is what this program is for."),
         .area = areas.memory},
        {.title = TourWords::tr("Policies"),
         .text = TourWords::tr(
             "A policy decides what is kept and what may go. Choose another, or compare up to four of them on "
             "one document. Ctrl+K finds every command, F1 lists all keys, and this tour is in the Help menu."),
         .area = areas.policy},
    };
}

} // namespace palimpsest::ui
