// A program that does nothing; all Catch2 programs reuse its precompiled headers.
int main() {}
