// Does nothing: all window tests reuse the precompiled headers of this program.
int main() {}
