# Warnings, sanitizers, and the permitted include directions between the top-level folders.

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM) # checkouts in different folders share compiled files, precompiled headers included
    set(PALIMPSEST_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1
                            CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE_PROGRAM})
    set(CMAKE_CXX_COMPILER_LAUNCHER ${PALIMPSEST_LAUNCHER})
endif()

add_library(palimpsest-flags INTERFACE)
include(CheckLinkerFlag)
check_linker_flag(CXX -fuse-ld=mold PALIMPSEST_HAS_MOLD) # links a test program in a second, GNU ld takes up to 25
if(PALIMPSEST_HAS_MOLD)
    target_link_options(palimpsest-flags INTERFACE $<$<LINK_LANGUAGE:CXX>:-fuse-ld=mold>)
endif()
# Adds options for C++ sources; PalimpsestCuda.cmake has those for CUDA sources.
function(palimpsest_compile_options)
    target_compile_options(palimpsest-flags INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:${ARGV}>")
endfunction()

palimpsest_compile_options(
    -Wall -Wextra -Wpedantic -Wnon-virtual-dtor -Wold-style-cast -Wcast-align -Woverloaded-virtual
    -Werror -ffp-contract=off -fmacro-prefix-map=${CMAKE_SOURCE_DIR}/=
    # A helper of one file may be called like a local of another file that is compiled with it.
    $<IF:$<BOOL:${PALIMPSEST_UNITY}>,$<$<CXX_COMPILER_ID:GNU>:-Wshadow=local>,-Wshadow>
    $<$<AND:$<CXX_COMPILER_ID:GNU>,$<BOOL:${PALIMPSEST_UNITY}>>:-Wno-subobject-linkage>
    # GCC 12 reports overlaps and overflows in std::string and std::vector that do not exist (GCC bug 105651).
    $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
    $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow>
    $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overread>
    $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds>
    # libstdc++ 12 calls a function of its own that it has deprecated.
    $<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations>)
if(PALIMPSEST_SANITIZE)
    palimpsest_compile_options(-fsanitize=${PALIMPSEST_SANITIZE} -fno-omit-frame-pointer
        -fno-sanitize-recover=all
        # GCC 12 reports uninitialised members of std::regex when sanitizers change its inlining.
        $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
    if(PALIMPSEST_SANITIZE MATCHES "address.*undefined")
        # AddressSanitizer reports their consequences, and they cost a quarter of the build time.
        palimpsest_compile_options(-fno-sanitize=null,vptr)
        palimpsest_compile_options($<$<BOOL:$<TARGET_PROPERTY:PALIMPSEST_TEST_CODE>>:-fno-sanitize=undefined>)
    endif()
    target_link_options(palimpsest-flags INTERFACE -fsanitize=${PALIMPSEST_SANITIZE})
else()
    target_compile_definitions(palimpsest-flags INTERFACE _GLIBCXX_ASSERTIONS)
    palimpsest_compile_options(-fstack-protector-strong
        $<$<CONFIG:Release>:-U_FORTIFY_SOURCE>
        # Needs optimisation, which the code of tests is compiled without.
        $<$<AND:$<CONFIG:Release>,$<NOT:$<BOOL:$<TARGET_PROPERTY:PALIMPSEST_TEST_CODE>>>>:-D_FORTIFY_SOURCE=2>)
    target_link_options(palimpsest-flags INTERFACE -Wl,-z,relro,-z,now)
endif()

# Leaves out optimisation under a sanitizer, for targets that compute little: it halves their build time.
function(palimpsest_unoptimised_under_sanitizer target)
    if(PALIMPSEST_SANITIZE)
        target_compile_options(${target} PRIVATE -O0)
    endif()
endfunction()

# For the code of tests: leaves out optimisation in every build, and UndefinedBehaviorSanitizer, which takes a third of
# their build time. It checks the source files of the libraries, and of their headers what these use.
function(palimpsest_test_code target)
    set_target_properties(${target} PROPERTIES PALIMPSEST_TEST_CODE ON)
    target_compile_options(${target} PRIVATE -O0)
endfunction()

# Compiles the sources of each folder together, up to 16 at a time, if PALIMPSEST_UNITY is on, so that what they include
# is compiled once for all of them. Names in the unnamed namespaces of one folder must therefore differ, except in the
# folder of the policies, where each file uses the same names. Call it after all sources were added.
function(palimpsest_unite_folders)
    if(NOT PALIMPSEST_UNITY)
        return()
    endif()
    foreach(target ${ARGN})
        set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
        get_target_property(folder ${target} SOURCE_DIR)
        get_target_property(sources ${target} SOURCES)
        list(FILTER sources INCLUDE REGEX "\\.cpp$")
        set(counted "")
        foreach(source ${sources})
            cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${folder} NORMALIZE)
            cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${CMAKE_SOURCE_DIR} OUTPUT_VARIABLE name)
            cmake_path(GET name PARENT_PATH group)
            string(MAKE_C_IDENTIFIER "${group}" group)
            if(group STREQUAL "engine_policy_named")
                continue()
            endif()
            list(APPEND counted ${group})
            set(of_group ${counted})
            list(FILTER of_group INCLUDE REGEX "^${group}$")
            list(LENGTH of_group count)
            math(EXPR part "(${count} - 1) / 16")
            set_source_files_properties(${source} TARGET_DIRECTORY ${target} PROPERTIES UNITY_GROUP ${group}_${part})
        endforeach()
    endforeach()
endfunction()

# One library per top-level folder. Its headers are included as "FOLDER/...", through an include directory that contains
# only a link to FOLDER. A library therefore sees exactly the folders it links, and an include against the dependency
# order does not compile.
function(palimpsest_library folder)
    cmake_parse_arguments(ARG "" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
    set(root ${CMAKE_BINARY_DIR}/include/${folder})
    file(MAKE_DIRECTORY ${root})
    file(CREATE_LINK ${CMAKE_SOURCE_DIR}/${folder} ${root}/${folder} SYMBOLIC)
    add_library(palimpsest-${folder} STATIC ${ARG_SOURCES})
    target_include_directories(palimpsest-${folder} PUBLIC ${root})
    target_link_libraries(palimpsest-${folder} PUBLIC ${ARG_PUBLIC} PRIVATE palimpsest-flags ${ARG_PRIVATE})
endfunction()

# One Catch2 program per test area. A program whose tests are all skipped counts as skipped, not as passed. COMPUTES: the
# tests themselves compute much, and are optimised under a sanitizer, too.
function(palimpsest_test name)
    cmake_parse_arguments(ARG "COMPUTES" "" "SOURCES;LIBRARIES" ${ARGN})
    add_executable(${name} ${ARG_SOURCES})
    if(ARG_COMPUTES)
        palimpsest_precompile_headers(${name} REUSE_FROM palimpsest-computing-test-headers)
    else()
        palimpsest_test_code(${name})
        palimpsest_precompile_headers(${name} REUSE_FROM palimpsest-test-headers)
    endif()
    target_link_libraries(${name} PRIVATE palimpsest-test-support palimpsest-flags ${ARG_LIBRARIES})
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 2400)
endfunction()

# Precompiles headers, with the arguments of target_precompile_headers, in a way that ccache can cache: GCC reports
# which precompiled header it used, and Clang leaves the timestamp out of it. Sources still include what they use.
function(palimpsest_precompile_headers target)
    target_precompile_headers(${target} ${ARGN})
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>
        "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")
endfunction()
