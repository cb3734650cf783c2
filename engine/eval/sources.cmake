set(EVAL_SOURCES
    eval/loss_meter.cpp
    eval/measured_reading.cpp)
