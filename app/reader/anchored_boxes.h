// The text boxes that are anchored in the paragraph that is open.
#pragma once

#include <functional>
#include <pugixml.hpp>
#include <utility>
#include <vector>

namespace palimpsest::reader {

class AnchoredBoxes {
public:
    void add(const pugi::xml_node& box) { boxes_.push_back(box); }

    // For the end of a paragraph: calls `run` for each box, in order. A box that is inside another box, which `run`
    // adds, follows the outer ones; the call that `run` makes at the end of a box's paragraph does nothing.
    void walk(const std::function<void(const pugi::xml_node&)>& run)
    {
        if (std::exchange(is_in_box_, true)) return;
        for (size_t i = 0; i < boxes_.size(); ++i)
            run(pugi::xml_node(boxes_[i]));
        boxes_.clear();
        is_in_box_ = false;
    }

private:
    std::vector<pugi::xml_node> boxes_;
    bool is_in_box_ = false;
};

} // namespace palimpsest::reader
