// The program whose precompiled headers all window tests reuse.
int main() {}
