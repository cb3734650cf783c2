# Everything of the CUDA backend but the plugin's edge: the plugin and the tests that run kernels on the CPU share it.
set(CUDA_BACKEND_SOURCES
    cublaslt_library.cpp
    cuda_backend.cpp
    cuda_context.cpp
    cuda_error.cpp
    cuda_weight.cu
    decode_attention.cu
    decode_signals.cu
    dequantise.cu
    device_memory.cpp
    embed.cu
    gemm.cu
    gemv.cu
    kv_rows.cu
    linear.cu
    multiply.cu
    page_bounds.cu
    page_retrieval.cu
    prefill_attention.cu
    prefill_rows.cu
    prefill_signals.cu
    rms_norm.cu
    send_ring.cpp
    stage.cu
    swiglu.cu
    tensor_attention.cu)
list(TRANSFORM CUDA_BACKEND_SOURCES PREPEND ${CMAKE_CURRENT_LIST_DIR}/)
