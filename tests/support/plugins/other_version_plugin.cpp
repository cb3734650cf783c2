// A plugin whose functions have the names of another version.

extern "C" {

int palimpsest_cuda_open_0(int, void*)
{
    return 0;
}

int palimpsest_cuda_survey_0(void*)
{
    return 0;
}
}
