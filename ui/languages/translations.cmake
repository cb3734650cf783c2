# The translations, compiled into the window; palimpsest_en has the plurals alone. `ninja renew-translations` brings
# resources/translations/*.ts up to date with the sources; a test fails while they are out of date.
find_package(Qt6 6.4 REQUIRED COMPONENTS LinguistTools)
set(translations ${CMAKE_SOURCE_DIR}/resources/translations)
qt_add_translation(qm_files ${translations}/palimpsest_de.ts ${translations}/palimpsest_en.ts)
configure_file(${translations}/translations.qrc ${CMAKE_CURRENT_BINARY_DIR}/translations.qrc COPYONLY)
qt_add_resources(compiled_translations ${CMAKE_CURRENT_BINARY_DIR}/translations.qrc)
target_sources(palimpsest-ui PRIVATE ${compiled_translations})
set_source_files_properties(${compiled_translations} PROPERTIES SKIP_AUTOGEN ON)

set(lupdate Qt6::lupdate -I . -no-obsolete -locations none ui)
add_custom_target(renew-translations
    COMMAND ${lupdate} -ts ${translations}/palimpsest_de.ts
    COMMAND ${lupdate} -pluralonly -ts ${translations}/palimpsest_en.ts
    WORKING_DIRECTORY ${CMAKE_SOURCE_DIR} VERBATIM)
