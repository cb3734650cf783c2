set(EVAL_SOURCES
    eval/loss_meter.cpp
    eval/token_loss.cpp)
