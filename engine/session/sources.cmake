set(SESSION_SOURCES
    session/entry_merge.cpp
    session/sampler.cpp
    session/session.cpp
    session/session_setup.cpp
    session/session_state.cpp
    session/resident_step.cpp
    session/session_step.cpp)
