// The program whose precompiled headers all Catch2 programs use.
int main() {}
