set(MESSAGES_SOURCES
    messages/catalogue.cpp
    ${CMAKE_CURRENT_BINARY_DIR}/messages/german.cpp)

# The translations are compiled in.
set(german_messages ${CMAKE_SOURCE_DIR}/resources/messages/de.json)
add_custom_command(OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/messages/german.cpp
    COMMAND ${CMAKE_COMMAND} -D FROM=${german_messages} -D TO=${CMAKE_CURRENT_BINARY_DIR}/messages/german.cpp
        -D HEADER=engine/messages/german.h -D NAMESPACE=palimpsest::engine -D NAME=german_messages
        -P ${CMAKE_SOURCE_DIR}/cmake/EmbedFile.cmake
    DEPENDS ${german_messages} ${CMAKE_SOURCE_DIR}/cmake/EmbedFile.cmake VERBATIM)
