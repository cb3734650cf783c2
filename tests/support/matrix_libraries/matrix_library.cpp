// A cuBLASLt that can be looked for and multiplies nothing. CREATE_STATUS: what it creates a handle with, 0 being
// success. WITHOUT_MATMUL: it lacks a function.

#ifndef CREATE_STATUS
#define CREATE_STATUS 0
#endif

extern "C" {

int cublasLtCreate(void** handle)
{
    static int one;
    *handle = CREATE_STATUS == 0 ? &one : nullptr;
    return CREATE_STATUS;
}

#define FUNCTION(name) \
    int name() { return 0; }

FUNCTION(cublasLtMatmulDescCreate)
FUNCTION(cublasLtMatmulDescDestroy)
FUNCTION(cublasLtMatmulDescSetAttribute)
FUNCTION(cublasLtMatrixLayoutCreate)
FUNCTION(cublasLtMatrixLayoutDestroy)
FUNCTION(cublasLtMatmulPreferenceCreate)
FUNCTION(cublasLtMatmulPreferenceDestroy)
FUNCTION(cublasLtMatmulPreferenceSetAttribute)
FUNCTION(cublasLtMatmulAlgoGetHeuristic)
FUNCTION(cublasLtMatmulAlgoConfigGetAttribute)
FUNCTION(cublasLtMatmulAlgoCheck)
#ifndef WITHOUT_MATMUL
FUNCTION(cublasLtMatmul)
#endif
}
