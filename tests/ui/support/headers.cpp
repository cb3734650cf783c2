// The program whose precompiled headers all tests of the window use.
int main()
{
}
