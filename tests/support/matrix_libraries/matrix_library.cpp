// A stub of cuBLASLt that can be loaded but does not multiply. Macros of the build: CREATE_STATUS is the status
// that cublasLtCreate returns, 0 for success; WITHOUT_MATMUL leaves out cublasLtMatmul.

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

#define FUNCTION(name)                                                                                             \
    int name()                                                                                                     \
    {                                                                                                              \
        return 0;                                                                                                  \
    }

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
