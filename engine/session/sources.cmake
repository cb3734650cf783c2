set(SESSION_SOURCES
    session/sampler.cpp
    session/session.cpp
    session/session_state.cpp)
