set(EVAL_SOURCES
    eval/loss_meter.cpp)
