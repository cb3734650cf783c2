# Writes the bytes of a file as a C++ source. Run by `cmake -P` with FROM, TO, HEADER, NAMESPACE and NAME: TO defines
# NAMESPACE::NAME, which HEADER declares, and NAME_bytes, its size.
file(READ ${FROM} bytes HEX)
string(LENGTH "${bytes}" digits)
math(EXPR size "${digits} / 2")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
# Sixteen bytes a line.
string(REPEAT "0x[0-9a-f][0-9a-f]," 16 line)
string(REGEX REPLACE "(${line})" "\\1\n" bytes "${bytes}")
file(WRITE ${TO}
    "#include \"${HEADER}\"\n\nnamespace ${NAMESPACE} {\n\n"
    "const unsigned char ${NAME}[] = {\n${bytes}};\n"
    "const size_t ${NAME}_bytes = ${size};\n\n} // namespace ${NAMESPACE}\n")
